package proxy_test

import (
	"fmt"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/proxy"
)

func ExampleFasthttpHTTPDialer() {
	client := &gale.Client{Dial: proxy.FasthttpHTTPDialer("user:password@localhost:3128")}
	status, body, err := client.Get(nil, "https://example.com/")
	fmt.Println(status, len(body), err)
}

func ExampleFasthttpSocksDialer() {
	client := &gale.Client{Dial: proxy.FasthttpSocksDialer("socks5://localhost:1080")}
	status, body, err := client.Get(nil, "https://example.com/")
	fmt.Println(status, len(body), err)
}

func ExampleDialer() {
	d := &proxy.Dialer{
		Config: httpproxy.Config{
			HTTPProxy:  "http://localhost:3128",
			HTTPSProxy: "socks5://localhost:1080",
			NoProxy:    "internal.example,10.0.0.0/8",
		},
		Timeout:        5 * time.Second,
		ConnectTimeout: 10 * time.Second,
	}
	dial, err := d.GetDialFunc(false)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &gale.Client{Dial: dial}
	status, body, err := client.Get(nil, "https://example.com/")
	fmt.Println(status, len(body), err)
}
