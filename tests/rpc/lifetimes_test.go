package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// held is a service whose unary calls wait until they are let go or their context ends.
type held struct {
	service
	entered chan context.Context
	letGo   chan struct{}
}

func newHeld() *held {
	h := &held{entered: make(chan context.Context, 10), letGo: make(chan struct{})}
	h.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		h.entered <- ctx
		select {
		case <-h.letGo:
			return &pb.SimpleResponse{}, nil
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return h
}

// call makes a unary call on another goroutine.
func call(ctx context.Context, c *grpc.ClientConn) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := pb.NewTestServiceClient(c).UnaryCall(ctx, &pb.SimpleRequest{})
		result <- err
	}()
	return result
}

// awaitRefusal waits until nothing listens there any more.
func awaitRefusal(t *testing.T, addr string) {
	t.Helper()
	await.Until(t, "the listener to close", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// TestShutdown: like GracefulStop of grpc-go, Shutdown waits for calls and streams, which
// go on as if nothing had happened, and their contexts don't end. Later calls of their
// connection are refused.
func TestShutdown(t *testing.T) {
	for name, drain := range map[string]time.Duration{"at once": 0, "after a drain": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				svc := newHeld()
				s := &gale.Server{DrainTime: drain}
				r := w.serve(t, s, svc.server())
				ctx := limited(t)
				c := r.dial()
				stream := open(t, ctx, c)
				result := call(ctx, c)
				<-svc.entered

				down := make(chan error, 1)
				go func() { down <- s.ShutdownWithContext(ctx) }()
				awaitRefusal(t, r.addr)
				for range 10 {
					if err := exchange(stream, 100<<10); err != nil {
						t.Fatalf("during the shutdown: %v", err)
					}
				}
				if err := <-call(ctx, c); status.Code(err) != codes.Unavailable {
					t.Errorf("a later call: %v, want Unavailable", err)
				}
				close(svc.letGo)
				if err := <-result; err != nil {
					t.Errorf("the call: %v", err)
				}
				if err := finish(stream); err != nil {
					t.Errorf("the stream: %v", err)
				}
				if err := <-down; err != nil {
					t.Errorf("Shutdown: %v", err)
				}
			})
		})
	}
}

// TestClose: Close ends calls and streams at once, also those for which Shutdown has
// waited in vain. Their contexts end, and their handlers.
func TestClose(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		svc := newHeld()
		ended := make(chan error, 1)
		svc.duplex = func(stream pb.TestService_FullDuplexCallServer) error {
			err := echo(stream)
			ended <- err
			return err
		}
		s := new(gale.Server)
		r := w.serve(t, s, svc.server())
		c := r.dial()
		stream := open(t, limited(t), c)
		result := call(limited(t), c)
		ctx := <-svc.entered

		impatient, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.ShutdownWithContext(impatient); err != context.Canceled {
			t.Errorf("Shutdown: %v", err)
		}
		if err := exchange(stream, 10); err != nil {
			t.Errorf("after the shutdown: %v", err)
		}
		s.Close()
		if err := <-result; status.Code(err) != codes.Unavailable {
			t.Errorf("the call: %v, want Unavailable", err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("the stream: %v, want Unavailable", err)
		}
		<-ctx.Done()
		if err := <-ended; status.Code(err) != codes.Canceled && status.Code(err) != codes.Unavailable {
			t.Errorf("the handler of the stream: %v, want Canceled, or Unavailable of a Read", err)
		}
	})
}

// TestClientLeaves: when a client cancels a call or closes its connection, the context of
// the call ends, and so does what waits for the client.
func TestClientLeaves(t *testing.T) {
	var sent atomic.Int64
	for _, tt := range []struct {
		name  string
		serve func(pb.TestService_FullDuplexCallServer) error // until the client leaves
	}{
		{"while the server waits for a message", func(stream pb.TestService_FullDuplexCallServer) error {
			_, err := stream.Recv()
			return err
		}},
		{"while the server waits for the context", func(stream pb.TestService_FullDuplexCallServer) error {
			<-stream.Context().Done()
			return status.FromContextError(stream.Context().Err()).Err()
		}},
		{"while the server sends", func(stream pb.TestService_FullDuplexCallServer) error {
			for {
				if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(64 << 10)}); err != nil {
					return err
				}
				sent.Add(1)
			}
		}},
	} {
		for _, leave := range []string{"cancel", "close"} {
			t.Run(tt.name+","+leave, func(t *testing.T) {
				eachWay(t, func(t *testing.T, w way) {
					sent.Store(0)
					ended := make(chan error, 1)
					svc := &service{duplex: func(stream pb.TestService_FullDuplexCallServer) error {
						if _, err := stream.Recv(); err != nil {
							return err
						}
						if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(10)}); err != nil {
							return err
						}
						err := tt.serve(stream)
						ended <- err
						return err
					}}
					c := w.serve(t, nil, svc.server()).dial()
					ctx, cancel := context.WithCancel(limited(t))
					defer cancel()
					open(t, ctx, c)
					if strings.HasSuffix(tt.name, "sends") {
						awaitStill(t, &sent)
					}
					if leave == "cancel" {
						cancel()
					} else {
						c.Close()
					}
					// Internal comes from a Read that finds the end of the connection first.
					switch err := <-ended; status.Code(err) {
					case codes.Canceled, codes.Unavailable, codes.Internal:
					default:
						t.Errorf("the handler got %v", err)
					}
				})
			})
		}
	}
}

// awaitStill waits until n has grown and most likely doesn't grow any more, since the
// client gives no room.
func awaitStill(t *testing.T, n *atomic.Int64) {
	t.Helper()
	before := int64(0)
	await.Until(t, "the client's window to fill", func() bool {
		time.Sleep(20 * time.Millisecond) // n must not grow meanwhile: only the client knows its windows
		now := n.Load()
		still := now > 0 && now == before
		before = now
		return still
	})
}

// TestDeadline: the deadline of a call is that of its context on the server, and ends it
// there, whether or not the client watches it too.
func TestDeadline(t *testing.T) {
	type state struct {
		has bool
		err error
	}
	states := make(chan state, 1)
	wait := func(ctx context.Context) error {
		_, has := ctx.Deadline()
		<-ctx.Done()
		states <- state{has, ctx.Err()}
		return status.FromContextError(ctx.Err()).Err()
	}
	svc := &service{
		unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) { return nil, wait(ctx) },
		duplex: func(stream pb.TestService_FullDuplexCallServer) error {
			if err := stream.SendHeader(nil); err != nil {
				return err
			}
			return wait(stream.Context())
		},
	}
	eachWay(t, func(t *testing.T, w way) {
		r := w.serve(t, nil, svc.server())
		c := r.dial()
		t.Run("call", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := <-call(ctx, c); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("got %v, want DeadlineExceeded", err)
			}
			if s := <-states; !s.has || s.err == nil {
				t.Errorf("the handler: deadline %v, error %v", s.has, s.err)
			}
		})
		// A client that only tells the server about its deadline, and goes on sending in
		// the second case.
		for _, method := range []string{"UnaryCall", "FullDuplexCall"} {
			t.Run("only the server,"+method, func(t *testing.T) {
				ctx, cancel := context.WithCancel(limited(t))
				resp, err := r.post(ctx, method, http.Header{"Grpc-Timeout": {"50m"}}, method == "UnaryCall")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				defer cancel() // first: Close waits for the body of the request
				if b, err := io.ReadAll(resp.Body); len(b) > 0 || err != nil {
					t.Errorf("the body: %q, %v", b, err)
				}
				if code := statusOf(resp); code != "4" {
					t.Errorf("status %q, want 4, DEADLINE_EXCEEDED", code)
				}
				if s := <-states; !s.has || s.err != context.DeadlineExceeded {
					t.Errorf("the handler: deadline %v, error %v", s.has, s.err)
				}
			})
		}
	})
}

// post calls a method of the test service with net/http's client, with one empty message.
// ends says that no other one follows; else the request doesn't end.
func (r *running) post(ctx context.Context, method string, h http.Header, ends bool) (*http.Response, error) {
	var body io.Reader = strings.NewReader("\x00\x00\x00\x00\x00")
	if !ends {
		rest, end := io.Pipe()
		context.AfterFunc(ctx, func() { end.CloseWithError(ctx.Err()) })
		body = io.MultiReader(body, rest)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", r.url("/grpc.testing.TestService/"+method), body)
	if err != nil {
		return nil, err
	}
	req.Header = h.Clone()
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	resp, err := r.client().Do(req)
	return resp, err
}

// statusOf returns the status of a response whose body was read.
func statusOf(resp *http.Response) string {
	if s := resp.Trailer.Get("Grpc-Status"); s != "" {
		return s
	}
	return resp.Header.Get("Grpc-Status")
}

// TestPanic: a handler that panics ends its call, before and after its headers, and no
// other one.
func TestPanic(t *testing.T) {
	svc := &service{}
	g := svc.server()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "UnaryCall"):
			panic("on purpose, before the headers")
		case strings.HasSuffix(r.URL.Path, "EmptyCall"):
			w.Header().Set("Content-Type", "application/grpc")
			w.Write([]byte("\x00\x00\x00\x00\x00"))
			w.(http.Flusher).Flush()
			panic("on purpose, after the headers")
		}
		g.ServeHTTP(w, r)
	})
	eachWay(t, func(t *testing.T, w way) {
		r := w.serve(t, nil, h)
		c := pb.NewTestServiceClient(r.dial())
		conn := r.dial()
		stream := open(t, limited(t), conn)
		for range 2 {
			if _, err := c.UnaryCall(limited(t), &pb.SimpleRequest{}); status.Code(err) != codes.Unknown {
				t.Errorf("before the headers: %v, want Unknown, of a 500", err)
			}
			if _, err := c.EmptyCall(limited(t), &pb.Empty{}); status.Code(err) != codes.Internal {
				t.Errorf("after the headers: %v, want Internal, of RST_STREAM INTERNAL_ERROR", err)
			}
			if _, err := pb.NewTestServiceClient(conn).EmptyCall(limited(t), &pb.Empty{}); status.Code(err) != codes.Internal {
				t.Errorf("beside a stream: %v, want Internal", err)
			}
			if err := exchange(stream, 10); err != nil {
				t.Errorf("the stream beside it: %v", err)
			}
		}
		if err := finish(stream); err != nil {
			t.Error(err)
		}
		if n := r.gale.GetOpenConnectionsCount(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
		if log := r.log.String(); strings.Count(log, "on purpose, after the headers") < 4 {
			t.Errorf("the log: %s", log)
		}
	})
}

// TestQuietStream: a client that sends nothing for longer than Server.ReadStallTimeout
// loses its stream, unless HeaderReceived turns the timeout off for it.
func TestQuietStream(t *testing.T) {
	const stall = 50 * time.Millisecond
	for _, off := range []bool{false, true} {
		t.Run(map[bool]string{false: "on", true: "off"}[off], func(t *testing.T) {
			eachEngine(t, func(t *testing.T, w way) {
				s := &gale.Server{ReadStallTimeout: stall}
				if off {
					s.HeaderReceived = func(*gale.RequestHeader) gale.RequestConfig {
						return gale.RequestConfig{ReadStallTimeout: -1}
					}
				}
				stream := open(t, limited(t), w.serve(t, s, (&service{}).server()).dial())
				if off {
					time.Sleep(5 * stall) // the quiet client
					if err := errors.Join(exchange(stream, 10), finish(stream)); err != nil {
						t.Error(err)
					}
					return
				}
				if _, err := stream.Recv(); status.Code(err) == codes.OK {
					t.Errorf("the stream ended with %v, want an error", err)
				}
			})
		})
	}
}
