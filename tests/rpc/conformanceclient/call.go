package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/galehttp/gale/tests/rpc/conformancev1"
)

// call is one call.
type call struct {
	req     *conformancev1.ClientCompatRequest
	result  conformancev1.ClientResponseResult
	client  *connect.Client
	spec    connect.Spec
	answers protoreflect.MessageType
	cancel  context.CancelFunc
}

// makeCall makes a call and returns its result. The error says why it couldn't be made.
func makeCall(name string, req *conformancev1.ClientCompatRequest) (*conformancev1.ClientResponseResult, error) {
	method := conformancev1.File_connectrpc_conformance_v1_service_proto.Services().ByName("ConformanceService").Methods().ByName(protoreflect.Name(req.GetMethod()))
	if method == nil {
		return nil, fmt.Errorf("there is no method %q", req.GetMethod())
	}
	answers, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		return nil, err
	}
	transport, closeIdle, err := newTransport(name, req)
	if err != nil {
		return nil, err
	}
	defer closeIdle()
	c := &call{req: req, client: connect.NewClient(transport), answers: answers}
	c.spec = connect.Spec{Schema: method, Procedure: "/" + string(method.Parent().FullName()) + "/" + req.GetMethod()}
	if req.GetMethod() == "IdempotentUnary" {
		c.spec.IdempotencyLevel = connect.IdempotencyNoSideEffects
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.cancel = cancel
	if ms := req.TimeoutMs; ms != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*ms)*time.Millisecond)
		defer stop()
	}
	ctx, info := connect.NewClientContext(ctx)
	for _, h := range req.GetRequestHeaders() {
		for _, v := range h.GetValue() {
			info.RequestHeader().Add(h.GetName(), v)
		}
	}
	if err := c.run(ctx); err != nil {
		c.result.Error = errorOf(err)
	}
	c.result.ResponseHeaders, c.result.ResponseTrailers = headers(info.ResponseHeader()), headers(info.ResponseTrailer())
	return &c.result, nil
}

// run makes the call by its type.
func (c *call) run(ctx context.Context) error {
	switch c.req.GetStreamType() {
	case conformancev1.StreamType_STREAM_TYPE_UNARY:
		c.spec.StreamType = connect.StreamTypeUnary
		m, err := c.req.GetRequestMessages()[0].UnmarshalNew()
		if err != nil {
			return err
		}
		c.cancelLater()
		out := c.answers.New().Interface()
		if err := c.client.CallUnary(ctx, c.spec, m, out); err != nil {
			return err
		}
		c.took(out)
		return nil
	case conformancev1.StreamType_STREAM_TYPE_SERVER_STREAM:
		c.spec.StreamType = connect.StreamTypeServer
		m, err := c.req.GetRequestMessages()[0].UnmarshalNew()
		if err != nil {
			return err
		}
		stream, err := c.client.CallServerStream(ctx, c.spec, m)
		if err != nil {
			return err
		}
		defer stream.Close()
		c.cancelLater()
		return c.receiveAll(stream)
	case conformancev1.StreamType_STREAM_TYPE_CLIENT_STREAM:
		c.spec.StreamType = connect.StreamTypeClient
	default:
		c.spec.StreamType = connect.StreamTypeBidi
	}
	stream, err := c.client.CallClientStream(ctx, c.spec)
	if err != nil {
		return err
	}
	defer stream.Close()
	full := c.req.GetStreamType() == conformancev1.StreamType_STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM
	if over, err := c.sendAll(ctx, stream, full); over {
		return err
	}
	if c.req.GetCancel().GetBeforeCloseSend() != nil {
		c.cancel()
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	c.cancelLater()
	return c.receiveAll(stream)
}

// sendAll sends the messages, and receives one after each if full is true. over says that
// the call has ended.
func (c *call) sendAll(ctx context.Context, stream connect.ClientStream, full bool) (over bool, err error) {
	all := c.req.GetRequestMessages()
	for i, a := range all {
		m, err := a.UnmarshalNew()
		if err != nil {
			return true, err
		}
		if ms := c.req.GetRequestDelayMs(); ms > 0 {
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-ctx.Done():
			}
		}
		if err := stream.Send(m); err != nil {
			c.result.NumUnsentRequests = int32(len(all) - i)
			if errors.Is(err, io.EOF) {
				return true, c.receiveAll(stream) // which has the reason
			}
			return true, err
		}
		if !full {
			continue
		}
		if more, err := c.receive(stream); !more || err != nil {
			c.result.NumUnsentRequests = int32(len(all) - i - 1)
			return true, err
		}
	}
	return false, nil
}

// receiveAll receives the messages that are left.
func (c *call) receiveAll(stream connect.ClientStream) error {
	for {
		if more, err := c.receive(stream); !more || err != nil {
			return err
		}
	}
}

// receive receives a message. more is false at the end.
func (c *call) receive(stream connect.ClientStream) (more bool, err error) {
	out := c.answers.New().Interface()
	if err := stream.Receive(out); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	c.took(out)
	if n := c.req.GetCancel().GetAfterNumResponses(); n > 0 && len(c.result.Payloads) == int(n) {
		c.cancel()
	}
	return true, nil
}

// took keeps the payload of a response.
func (c *call) took(m proto.Message) {
	p := new(conformancev1.ConformancePayload)
	if r, ok := m.(interface {
		GetPayload() *conformancev1.ConformancePayload
	}); ok && r.GetPayload() != nil {
		p = r.GetPayload()
	}
	c.result.Payloads = append(c.result.Payloads, p)
}

// cancelLater cancels the call some time after the last message was sent, if the request
// says so.
func (c *call) cancelLater() {
	cancel := c.req.GetCancel()
	if cancel == nil {
		return
	}
	switch t := cancel.GetCancelTiming().(type) {
	case nil:
		c.cancel()
	case *conformancev1.ClientCompatRequest_Cancel_AfterCloseSendMs:
		time.AfterFunc(time.Duration(t.AfterCloseSendMs)*time.Millisecond, c.cancel)
	}
}

// errorOf returns the error of a call as the runner wants it.
func errorOf(err error) *conformancev1.Error {
	e := (*connect.Error)(nil)
	if !errors.As(err, &e) {
		code := connect.CodeUnknown
		switch {
		case errors.Is(err, context.Canceled):
			code = connect.CodeCanceled
		case errors.Is(err, context.DeadlineExceeded):
			code = connect.CodeDeadlineExceeded
		}
		return &conformancev1.Error{Code: conformancev1.Code(code), Message: proto.String(err.Error())}
	}
	out := &conformancev1.Error{Code: conformancev1.Code(e.Code()), Message: proto.String(e.Message())}
	for _, d := range e.Details() {
		out.Details = append(out.Details, connectproto.ErrorDetailToAny(d))
	}
	return out
}

func headers(h *connect.Header) (all []*conformancev1.Header) {
	for name, values := range h.All() {
		all = append(all, &conformancev1.Header{Name: name, Value: values})
	}
	return all
}
