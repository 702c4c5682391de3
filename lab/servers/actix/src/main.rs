//! The lab's server on actix-web. See servers/work/work.go for what it answers.
//!
//! lab-actix -addr HOST:PORT -workers N

use actix_web::http::header::{HeaderName, HeaderValue, CONTENT_TYPE, SERVER};
use actix_web::{web, App, HttpResponse, HttpResponseBuilder, HttpServer};
use futures_util::StreamExt;
use serde::Serialize;
use std::time::Duration;

const FIELDS: [(HeaderName, HeaderValue); 4] = [
    (HeaderName::from_static("x-request-id"), HeaderValue::from_static("0123456789abcdef0123456789abcdef")),
    (HeaderName::from_static("cache-control"), HeaderValue::from_static("no-store, max-age=0")),
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("strict-transport-security"), HeaderValue::from_static("max-age=63072000; includeSubDomains")),
];

const ROWS: usize = 20;

#[derive(Serialize)]
struct Item {
    id: usize,
    name: &'static str,
    price: usize,
    quantity: usize,
    active: bool,
    tags: [&'static str; 2],
    total: usize,
}

#[derive(Serialize)]
struct Dataset {
    count: usize,
    items: Vec<Item>,
}

fn dataset() -> Dataset {
    let item = |i: usize| {
        let (price, quantity) = (100 + i * 7, 1 + i % 5);
        Item { id: i + 1, name: "item number", price, quantity, active: i % 2 == 0, tags: ["fast", "small"], total: price * quantity }
    };
    Dataset { count: ROWS, items: (0..ROWS).map(item).collect() }
}

fn ok(content_type: &'static str) -> HttpResponseBuilder {
    let mut r = HttpResponse::Ok();
    r.insert_header((SERVER, HeaderValue::from_static("lab")));
    r.insert_header((CONTENT_TYPE, HeaderValue::from_static(content_type)));
    r
}

const PLAIN: &str = "text/plain; charset=utf-8";

async fn hello() -> HttpResponse {
    ok(PLAIN).body("Hello, world!")
}

async fn fields() -> HttpResponse {
    let mut r = ok(PLAIN);
    for f in FIELDS {
        r.insert_header(f);
    }
    r.body("Hello, world!")
}

async fn sleep() -> HttpResponse {
    actix_web::rt::time::sleep(Duration::from_millis(1)).await;
    hello().await
}

async fn echo(body: web::Bytes) -> HttpResponse {
    ok("application/octet-stream").body(body)
}

async fn upload(mut body: web::Payload) -> HttpResponse {
    let mut n = 0;
    while let Some(part) = body.next().await {
        match part {
            Ok(bytes) => n += bytes.len(),
            Err(e) => return HttpResponse::BadRequest().body(e.to_string()),
        }
    }
    ok(PLAIN).body(n.to_string())
}

async fn collect(body: web::Bytes) -> HttpResponse {
    ok(PLAIN).body(body.len().to_string())
}

async fn json() -> HttpResponse {
    match serde_json::to_vec(&dataset()) {
        Ok(text) => ok("application/json").body(text),
        Err(e) => HttpResponse::InternalServerError().body(e.to_string()),
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let (mut addr, mut workers) = ("127.0.0.1:8080".to_string(), 1);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().unwrap_or_default();
        match name.as_str() {
            "-addr" => addr = value,
            "-workers" => workers = value.parse().unwrap_or(1),
            _ => return Err(std::io::Error::other(format!("no flag {name}"))),
        }
    }
    HttpServer::new(|| {
        App::new()
            .app_data(web::PayloadConfig::new(32 << 20))
            .route("/", web::get().to(hello))
            .route("/fields", web::get().to(fields))
            .route("/sleep", web::get().to(sleep))
            .route("/echo", web::post().to(echo))
            .route("/upload", web::post().to(upload))
            .route("/collect", web::post().to(collect))
            .route("/json", web::get().to(json))
    })
    .workers(workers)
    .backlog(4096)
    .max_connections(1 << 20)
    .keep_alive(Duration::from_secs(3600))
    .client_request_timeout(Duration::ZERO)
    .bind(addr)?
    .run()
    .await
}
