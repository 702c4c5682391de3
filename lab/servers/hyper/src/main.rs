//! The lab's server on hyper. See servers/work/work.go for what it answers.
//!
//! lab-hyper -addr HOST:PORT -workers N [-http2]
//!
//! Each worker is a thread with a listener and a runtime of its own. With -http2 it speaks
//! HTTP/2 alone, with prior knowledge.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue, CONTENT_TYPE, SERVER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::net::SocketAddr;
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

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PLAIN: &str = "text/plain; charset=utf-8";

fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut r = Response::new(Full::new(body.into()));
    r.headers_mut().insert(SERVER, HeaderValue::from_static("lab"));
    r.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    r
}

fn hello() -> Response<Full<Bytes>> {
    ok(PLAIN, Bytes::from_static(b"Hello, world!"))
}

async fn answer(req: Request<Incoming>) -> Result<Response<Full<Bytes>>, Failure> {
    Ok(match (req.method(), req.uri().path()) {
        (&Method::GET, "/") => hello(),
        (&Method::GET, "/fields") => {
            let mut r = hello();
            for (name, value) in FIELDS {
                r.headers_mut().insert(name, value);
            }
            r
        }
        (&Method::GET, "/sleep") => {
            tokio::time::sleep(Duration::from_millis(1)).await;
            hello()
        }
        (&Method::POST, "/echo") => ok("application/octet-stream", req.into_body().collect().await?.to_bytes()),
        (&Method::POST, "/upload") => {
            let (mut body, mut n) = (req.into_body(), 0);
            while let Some(frame) = body.frame().await {
                n += frame?.data_ref().map_or(0, |d| d.len());
            }
            ok(PLAIN, n.to_string())
        }
        (&Method::POST, "/collect") => ok(PLAIN, req.into_body().collect().await?.to_bytes().len().to_string()),
        (&Method::GET, "/json") => ok("application/json", serde_json::to_vec(&dataset())?),
        _ => {
            let mut r = Response::new(Full::default());
            *r.status_mut() = StatusCode::NOT_FOUND;
            r
        }
    })
}

async fn serve(addr: SocketAddr, http2: bool) -> Result<(), Failure> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(4096)?;
    let listener = tokio::net::TcpListener::from_std(socket.into())?;
    loop {
        let (conn, _) = listener.accept().await?;
        conn.set_nodelay(true)?;
        let io = TokioIo::new(conn);
        tokio::spawn(async move {
            // An error ends this connection alone.
            if http2 {
                let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service_fn(answer)).await;
            } else {
                let _ = hyper::server::conn::http1::Builder::new().pipeline_flush(true).serve_connection(io, service_fn(answer)).await;
            }
        });
    }
}

fn main() -> Result<(), Failure> {
    let (mut addr, mut workers, mut http2) = ("127.0.0.1:8080".to_string(), 1, false);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "-addr" => addr = args.next().unwrap_or_default(),
            "-workers" => workers = args.next().unwrap_or_default().parse()?,
            "-http2" => http2 = true,
            _ => return Err(format!("no flag {name}").into()),
        }
    }
    let addr: SocketAddr = addr.parse()?;
    let run = move || -> Result<(), Failure> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(addr, http2))
    };
    let threads: Vec<_> = (1..workers).map(|_| std::thread::spawn(run)).collect();
    run()?;
    for t in threads {
        t.join().map_err(|_| "a worker panicked")??;
    }
    Ok(())
}
