package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/galehttp/gale/internal/measure/process"
)

// child is a server's process.
type child struct {
	name string
	addr string
	cmd  *exec.Cmd
	used *process.Process
}

// start starts this program again, as a server.
func start(ctx context.Context, name, profile string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: exec.CommandContext(ctx, self, "-serve", name, "-cpuprofile", profile)}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.stop()
		return nil, err
	}
	c.addr = strings.TrimSpace(line)
	if c.used, err = process.Open(c.cmd.Process.Pid); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// stop ends the process.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	_ = c.cmd.Wait()
}

// sample is one round.
type sample struct {
	calls int64
	cpu   time.Duration
	wall  time.Duration
}

// cost returns the microseconds of CPU time for a call.
func (s sample) cost() float64 { return float64(s.cpu.Nanoseconds()) / float64(s.calls) / 1000 }

// rate returns the calls for a second.
func (s sample) rate() float64 { return float64(s.calls) / s.wall.Seconds() }

// sample runs one round: so many callers on one connection. A fifth of the round passes
// before anything is counted.
func (c *child) sample(ctx context.Context, callers int, o options) (sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := grpc.NewClient(c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return sample{}, err
	}
	defer conn.Close()
	client := pb.NewTestServiceClient(conn)
	req := &pb.SimpleRequest{ResponseSize: int32(o.size), Payload: &pb.Payload{Body: make([]byte, o.size)}}
	var calls atomic.Int64
	var stopped atomic.Bool
	var all sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for !stopped.Load() {
				if _, err := client.UnaryCall(ctx, req); err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	time.Sleep(o.round / 5)
	n, cpu, began := calls.Load(), c.used.Usage().CPU, time.Now()
	time.Sleep(o.round)
	s := sample{calls.Load() - n, c.used.Usage().CPU - cpu, time.Since(began)}
	stopped.Store(true)
	all.Wait()
	select {
	case err := <-failed:
		return s, err
	default:
	}
	if s.calls == 0 || s.cpu <= 0 {
		return s, errors.New("no call was answered")
	}
	return s, nil
}
