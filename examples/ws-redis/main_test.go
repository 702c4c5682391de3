package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/ws"
)

// limit is how long anything may take before a test gives up.
const limit = time.Minute

// freeAddr returns an address on loopback that nothing listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// start runs a program until the test ends, and waits until it listens.
func start(t *testing.T, addr, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(cmd) })
	await.Until(t, program+" to listen", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return cmd
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func startRedis(t *testing.T, addr string) *exec.Cmd {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	return start(t, addr, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--loglevel", "warning")
}

// Clients of two processes are in one room, also after Redis was away.
func TestTwoProcesses(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("LEFT OUT: redis-server is not installed")
	}
	redisAddr := freeAddr(t)
	server := startRedis(t, redisAddr)
	bin := filepath.Join(t.TempDir(), "ws-redis.exe")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	var clients []*ws.Conn
	for range 2 {
		addr := freeAddr(t)
		start(t, addr, bin, "-addr", addr, "-redis", redisAddr)
		for range 2 {
			c, _, err := ws.Dial(ctx, "ws://"+addr+"/lobby", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			clients = append(clients, c)
		}
	}
	here, there := clients[0], clients[2]
	meet(t, ctx, here, clients)
	meet(t, ctx, there, clients)
	for _, tt := range []struct {
		mt   ws.MessageType
		text string
	}{{ws.Text, "grüße"}, {ws.Binary, "\x00\xff"}, {ws.Binary, ""}, {ws.Text, strings.Repeat("x", 1<<20)}} {
		if err := here.Write(ctx, tt.mt, []byte(tt.text)); err != nil {
			t.Fatal(err)
		}
		for i, c := range clients {
			if mt, data, err := c.Read(ctx); err != nil || mt != tt.mt || string(data) != tt.text {
				t.Fatalf("client %d: %v of %d bytes, %v; want %v of %d", i, mt, len(data), err, tt.mt, len(tt.text))
			}
		}
	}

	// Without Redis the sender is closed, others stay.
	stop(server)
	if err := clients[1].Write(ctx, ws.Text, []byte("lost")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := clients[1].Read(ctx); ws.CloseStatus(err) != ws.StatusTryAgainLater {
		t.Errorf("without Redis: %v", err)
	}
	startRedis(t, redisAddr)
	client := redis.NewClient(&redis.Options{Addr: redisAddr})
	defer client.Close()
	await.Until(t, "both to subscribe again", func() bool {
		n, err := client.PubSubNumSub(ctx, prefix+"lobby").Result()
		return err == nil && n[prefix+"lobby"] == 2
	})
	meet(t, ctx, here, []*ws.Conn{here, there, clients[3]})

	// A room without members is left.
	for _, c := range clients {
		if err := c.Close(ws.StatusNormal, ""); err != nil && ws.CloseStatus(err) == ws.StatusAbnormal && !errors.Is(err, ws.ErrClosed) {
			t.Log(err) // closed before
		}
	}
	await.Until(t, "no channel to be subscribed to", func() bool {
		channels, err := client.PubSubChannels(ctx, prefix+"*").Result()
		return err == nil && len(channels) == 0
	})
}

// meet waits until all get what from sends. A WebSocket is open before OnOpen has
// subscribed, so the first messages may miss some.
func meet(t *testing.T, ctx context.Context, from *ws.Conn, all []*ws.Conn) {
	t.Helper()
	const end = "end"
	got := make(chan error, len(all))
	for _, c := range all {
		go func() {
			_, _, err := c.Read(ctx)
			got <- err
		}()
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < len(all); {
		if err := from.Write(ctx, ws.Text, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			n++
		case <-tick.C:
		}
	}
	if err := from.Write(ctx, ws.Text, []byte(end)); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for {
			_, data, err := c.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) == end {
				break
			}
		}
	}
}
