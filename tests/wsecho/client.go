package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/galehttp/gale/ws"
)

// The client that a fuzzing server of Autobahn judges.

const agent = "gale"

// clientTime limits each case.
const clientTime = 2 * time.Minute

// runClient runs all cases that the fuzzing server at url has.
func runClient(url string, deflate bool) error {
	o := &ws.DialOptions{MaxMessage: 64 << 20, MaxControl: -1}
	if deflate {
		o.Compression = &ws.Compression{SendTakeover: true, ReceiveTakeover: true, Threshold: -1}
	}
	n, err := countCases(url)
	if err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		if err := runCase(fmt.Sprintf("%s/runCase?case=%d&agent=%s", url, i, agent), o); err != nil {
			fmt.Fprintf(os.Stderr, "case %d: %v\n", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	c, _, err := ws.Dial(ctx, url+"/updateReports?agent="+agent, nil)
	if err != nil {
		return err
	}
	_, _, _ = c.Read(ctx) // until the server closes
	return c.CloseNow()
}

// countCases asks the server how many cases there are.
func countCases(url string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	c, _, err := ws.Dial(ctx, url+"/getCaseCount", nil)
	if err != nil {
		return 0, err
	}
	defer c.CloseNow()
	_, text, err := c.Read(ctx)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// runCase echoes until the server closes.
func runCase(url string, o *ws.DialOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	c, _, err := ws.Dial(ctx, url, o)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	var buf []byte
	for {
		t, data, err := c.AppendRead(ctx, buf[:0])
		if err != nil || c.Write(ctx, t, data) != nil {
			return nil
		}
		buf = data
	}
}
