package rpc

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/interop"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"
)

// interopCases are the cases of grpc-go's interop client, by the names that it gives them.
// Those that need accounts of a cloud are left out. So is pick_first_unary, which needs a
// server with a name, and orca_oob: the service sends a report once in 30 seconds at most.
var interopCases = []struct {
	name string
	run  func(ctx context.Context, c *grpc.ClientConn, options ...grpc.CallOption)
}{
	{"empty_unary", onTests(interop.DoEmptyUnaryCall)},
	{"large_unary", onTests(interop.DoLargeUnaryCall)},
	{"client_streaming", onTests(interop.DoClientStreaming)},
	{"server_streaming", onTests(interop.DoServerStreaming)},
	{"ping_pong", onTests(interop.DoPingPong)},
	{"empty_stream", onTests(interop.DoEmptyStream)},
	{"timeout_on_sleeping_server", onTests(interop.DoTimeoutOnSleepingServer)},
	{"cancel_after_begin", onTests(interop.DoCancelAfterBegin)},
	{"cancel_after_first_response", onTests(interop.DoCancelAfterFirstResponse)},
	{"status_code_and_message", onTests(interop.DoStatusCodeAndMessage)},
	{"special_status_message", onTests(interop.DoSpecialStatusMessage)},
	{"custom_metadata", onTests(interop.DoCustomMetadata)},
	{"unimplemented_method", func(ctx context.Context, c *grpc.ClientConn, _ ...grpc.CallOption) {
		interop.DoUnimplementedMethod(ctx, c)
	}},
	{"unimplemented_service", func(ctx context.Context, c *grpc.ClientConn, _ ...grpc.CallOption) {
		interop.DoUnimplementedService(ctx, pb.NewUnimplementedServiceClient(c))
	}},
}

// onTests makes a case of a function that needs a client of the test service.
func onTests(f func(context.Context, pb.TestServiceClient, ...grpc.CallOption)) func(context.Context, *grpc.ClientConn, ...grpc.CallOption) {
	return func(ctx context.Context, c *grpc.ClientConn, options ...grpc.CallOption) {
		f(ctx, pb.NewTestServiceClient(c), options...)
	}
}

// newInterop returns a grpc.Server with the service of the interop tests.
func newInterop() *grpc.Server {
	g := grpc.NewServer(orca.CallMetricsServerOption(nil))
	pb.RegisterTestServiceServer(g, interop.NewTestServer())
	return g
}

// TestInterop runs the cases of grpc-go's interop client against its own service, served by
// grpc.Server.ServeHTTP on Gale.
func TestInterop(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c := w.serve(t, nil, newInterop()).dial()
		for _, tt := range interopCases {
			t.Run(tt.name, func(t *testing.T) { check(t, func() { tt.run(limited(t), c) }) })
		}
		for _, tt := range interopCases {
			t.Run(tt.name+",gzip", func(t *testing.T) {
				check(t, func() { tt.run(limited(t), c, grpc.UseCompressor(gzip.Name)) })
			})
		}
	})
}

// TestInteropSoak makes large calls at the same time: on one connection, and each on a
// connection of its own.
func TestInteropSoak(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		r := w.serve(t, nil, newInterop())
		soak := interop.SoakTestConfig{
			RequestSize:                      271828,
			ResponseSize:                     314159,
			PerIterationMaxAcceptableLatency: time.Minute,
			OverallTimeout:                   time.Minute,
			ServerAddr:                       r.addr,
			NumWorkers:                       4,
			Iterations:                       12, // the same number for each worker
		}
		t.Run("rpc_soak", func(t *testing.T) {
			c := r.dial()
			soak.ChannelForTest = func() (*grpc.ClientConn, func()) { return c, func() {} }
			check(t, func() { interop.DoSoakTest(limited(t), soak) })
		})
		t.Run("channel_soak", func(t *testing.T) {
			soak.ChannelForTest = func() (*grpc.ClientConn, func()) {
				c := r.dial()
				return c, func() { c.Close() }
			}
			check(t, func() { interop.DoSoakTest(limited(t), soak) })
		})
	})
}

// TestInteropLoadReports is the case orca_per_rpc: load reports in the trailers of calls.
func TestInteropLoadReports(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c := w.serve(t, nil, newInterop()).dial(grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}`))
		check(t, func() { interop.DoORCAPerRPCTest(limited(t), pb.NewTestServiceClient(c)) })
	})
}

// limited returns a context that ends a test that hangs.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
