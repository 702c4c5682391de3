package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/galehttp/gale"
)

// service is a service whose methods a test chooses. By default both send back what they
// get.
type service struct {
	pb.UnimplementedTestServiceServer
	unary  func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error)
	duplex func(pb.TestService_FullDuplexCallServer) error
}

func (s *service) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s.unary != nil {
		return s.unary(ctx, in)
	}
	return &pb.SimpleResponse{Payload: in.GetPayload()}, nil
}

func (s *service) FullDuplexCall(stream pb.TestService_FullDuplexCallServer) error {
	if s.duplex != nil {
		return s.duplex(stream)
	}
	return echo(stream)
}

// echo sends back each message.
func echo(stream pb.TestService_FullDuplexCallServer) error {
	for {
		in, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: in.GetPayload()}); err != nil {
			return err
		}
	}
}

// server returns a grpc.Server with the service.
func (s *service) server(options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(options...)
	pb.RegisterTestServiceServer(g, s)
	return g
}

// payload returns a payload of n bytes.
func payload(n int) *pb.Payload { return &pb.Payload{Body: bytes.Repeat([]byte("gale"), n/4+1)[:n]} }

// exchange sends a message and waits until it comes back.
func exchange(stream pb.TestService_FullDuplexCallClient, n int) error {
	p := payload(n)
	if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: p}); err != nil {
		return err
	}
	out, err := stream.Recv()
	if err != nil {
		return err
	}
	if !bytes.Equal(out.GetPayload().GetBody(), p.GetBody()) {
		return fmt.Errorf("%d other bytes came back", len(out.GetPayload().GetBody()))
	}
	return nil
}

// finish ends a stream of echo.
func finish(stream pb.TestService_FullDuplexCallClient) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("after the last message: %w", err)
	}
	return nil
}

// open opens a stream and waits for a first message.
func open(t *testing.T, ctx context.Context, c *grpc.ClientConn) pb.TestService_FullDuplexCallClient {
	t.Helper()
	stream, err := pb.NewTestServiceClient(c).FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := exchange(stream, 10); err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestSizes sends messages of many sizes both ways, much larger ones than windows and
// buffers too.
func TestSizes(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		r := w.serve(t, nil, (&service{}).server(grpc.MaxRecvMsgSize(64<<20)))
		c := r.dial(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)))
		stream := open(t, limited(t), c)
		for _, n := range []int{0, 1, 100, 16<<10 - 5, 16 << 10, 64<<10 - 1, 64 << 10, 1 << 20, 32 << 20} {
			if err := exchange(stream, n); err != nil {
				t.Fatalf("%d bytes on a stream: %v", n, err)
			}
			p := payload(n)
			out, err := pb.NewTestServiceClient(c).UnaryCall(limited(t), &pb.SimpleRequest{Payload: p})
			if err != nil || !bytes.Equal(out.GetPayload().GetBody(), p.GetBody()) {
				t.Fatalf("%d bytes in a call: %v", n, err)
			}
		}
		if err := finish(stream); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSideBySide makes many calls on one connection at the same time: more than it may
// have streams.
func TestSideBySide(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		s := &gale.Server{HTTP2: gale.HTTP2Config{MaxStreams: 50}}
		r := w.serve(t, s, (&service{}).server())
		c := r.dial()
		ctx := limited(t)
		var calls sync.WaitGroup
		for i := range 200 {
			calls.Go(func() {
				if i%2 == 0 {
					p := payload(i * 100)
					out, err := pb.NewTestServiceClient(c).UnaryCall(ctx, &pb.SimpleRequest{Payload: p})
					if err != nil || !bytes.Equal(out.GetPayload().GetBody(), p.GetBody()) {
						t.Errorf("call %d: %v", i, err)
					}
					return
				}
				stream, err := pb.NewTestServiceClient(c).FullDuplexCall(ctx)
				if err != nil {
					t.Errorf("stream %d: %v", i, err)
					return
				}
				for n := range 20 {
					if err := exchange(stream, n*i); err != nil {
						t.Errorf("stream %d, message %d: %v", i, n, err)
						return
					}
				}
				if err := finish(stream); err != nil {
					t.Errorf("stream %d: %v", i, err)
				}
			})
		}
		calls.Wait()
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// TestMetadata sends all bytes in binary metadata, repeated and long values, both in the
// headers and in the trailers.
func TestMetadata(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	sent := metadata.MD{
		"all-bin":   {string(all), "", string(all[128:])},
		"text":      {"one", "two,three", "spaces  inside"},
		"long":      {string(bytes.Repeat([]byte("x"), 20<<10))},
		"x-unusual": {"!#$%&'*+-.^_`|~"},
	}
	back := func(md metadata.MD) metadata.MD {
		got := metadata.MD{}
		for k := range sent {
			got[k] = md[k]
		}
		return got
	}
	svc := &service{
		unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			return &pb.SimpleResponse{}, errors.Join(grpc.SetHeader(ctx, back(md)), grpc.SetTrailer(ctx, back(md)))
		},
		duplex: func(stream pb.TestService_FullDuplexCallServer) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			if err := stream.SendHeader(back(md)); err != nil {
				return err
			}
			stream.SetTrailer(back(md))
			return status.Error(codes.Aborted, "enough")
		},
	}
	equal := func(t *testing.T, where string, got metadata.MD) {
		t.Helper()
		for k, v := range sent {
			if !slices.Equal(got[k], v) {
				t.Errorf("%s: %s: got %.100q, want %.100q", where, k, got[k], v)
			}
		}
	}
	eachWay(t, func(t *testing.T, w way) {
		c := pb.NewTestServiceClient(w.serve(t, nil, svc.server()).dial())
		ctx := metadata.NewOutgoingContext(limited(t), sent)
		var header, trailer metadata.MD
		if _, err := c.UnaryCall(ctx, &pb.SimpleRequest{}, grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
			t.Fatal(err)
		}
		equal(t, "header of a call", header)
		equal(t, "trailer of a call", trailer)
		stream, err := c.FullDuplexCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if header, err = stream.Header(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Aborted {
			t.Errorf("the stream ended with %v", err)
		}
		equal(t, "header of a stream", header)
		equal(t, "trailer of a stream", stream.Trailer())
	})
}

// TestRefusals are calls that the service or the server refuses. The connection serves
// others afterwards.
func TestRefusals(t *testing.T) {
	svc := &service{duplex: func(pb.TestService_FullDuplexCallServer) error {
		return status.Error(codes.InvalidArgument, "no")
	}}
	large := metadata.Pairs("large", string(bytes.Repeat([]byte("x"), 100<<10)))
	eachWay(t, func(t *testing.T, w way) {
		s := new(gale.Server)
		r := w.serve(t, s, svc.server())
		c := pb.NewTestServiceClient(r.dial(grpc.WithMaxHeaderListSize(1 << 20)))
		for _, tt := range []struct {
			name string
			call func(ctx context.Context) error
			want codes.Code
		}{
			{"a message beyond the limit", func(ctx context.Context) error {
				_, err := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: payload(8 << 20)})
				return err
			}, codes.ResourceExhausted},
			{"a status while the client sends", func(ctx context.Context) error {
				stream, err := c.FullDuplexCall(ctx)
				if err != nil {
					return err
				}
				for err == nil {
					err = stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(1 << 20)})
				}
				if err != io.EOF {
					return err
				}
				_, err = stream.Recv()
				return err
			}, codes.InvalidArgument},
			{"metadata beyond the limit", func(ctx context.Context) error {
				_, err := c.UnaryCall(metadata.NewOutgoingContext(ctx, large), &pb.SimpleRequest{})
				return err
			}, codes.Internal}, // the client knows the limit by the server's SETTINGS
		} {
			t.Run(tt.name, func(t *testing.T) {
				if err := tt.call(limited(t)); status.Code(err) != tt.want {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if _, err := c.UnaryCall(limited(t), &pb.SimpleRequest{}); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
		}
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}
