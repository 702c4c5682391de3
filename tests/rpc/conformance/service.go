package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/galehttp/gale/tests/rpc/conformancev1"
	"github.com/galehttp/gale/tests/rpc/conformancev1/conformancev1connect"
)

// service answers as the comments of service.proto say. Unimplemented is the method that
// it must not have.
type service struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

func (service) Unary(ctx context.Context, req *conformancev1.UnaryRequest) (*conformancev1.UnaryResponse, error) {
	p, err := answer(ctx, req.GetResponseDefinition(), []proto.Message{req})
	if err != nil {
		return nil, err
	}
	return &conformancev1.UnaryResponse{Payload: p}, nil
}

func (service) IdempotentUnary(ctx context.Context, req *conformancev1.IdempotentUnaryRequest) (*conformancev1.IdempotentUnaryResponse, error) {
	p, err := answer(ctx, req.GetResponseDefinition(), []proto.Message{req})
	if err != nil {
		return nil, err
	}
	return &conformancev1.IdempotentUnaryResponse{Payload: p}, nil
}

func (service) ClientStream(ctx context.Context, stream conformancev1connect.ConformanceServiceClientStreamServerStream) (*conformancev1.ClientStreamResponse, error) {
	var def *conformancev1.UnaryResponseDefinition
	var reqs []proto.Message
	for {
		req, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if reqs = append(reqs, req); len(reqs) == 1 {
			def = req.GetResponseDefinition()
		}
	}
	p, err := answer(ctx, def, reqs)
	if err != nil {
		return nil, err
	}
	return &conformancev1.ClientStreamResponse{Payload: p}, nil
}

func (service) ServerStream(ctx context.Context, req *conformancev1.ServerStreamRequest, stream conformancev1connect.ConformanceServiceServerStreamServerStream) error {
	a := &answers{ctx: ctx, def: req.GetResponseDefinition(), reqs: []proto.Message{req}, send: func(p *conformancev1.ConformancePayload) error {
		return stream.Send(&conformancev1.ServerStreamResponse{Payload: p})
	}}
	if err := a.begin(stream.SendHeaders); err != nil {
		return err
	}
	return a.finish()
}

func (service) BidiStream(ctx context.Context, stream conformancev1connect.ConformanceServiceBidiStreamServerStream) error {
	a := &answers{ctx: ctx, send: func(p *conformancev1.ConformancePayload) error {
		return stream.Send(&conformancev1.BidiStreamResponse{Payload: p})
	}}
	first, full := true, false
	for {
		req, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		a.reqs = append(a.reqs, req)
		if first {
			first, full, a.def = false, req.GetFullDuplex(), req.GetResponseDefinition()
			if full {
				if err := a.begin(stream.SendHeaders); err != nil {
					return err
				}
			}
		}
		if !full {
			continue
		}
		if !a.more() {
			break
		}
		if err := a.next(); err != nil {
			return err
		}
	}
	if !full {
		if err := a.begin(stream.SendHeaders); err != nil {
			return err
		}
	}
	return a.finish()
}

// answer makes the only response of a call, or its error.
func answer(ctx context.Context, def *conformancev1.UnaryResponseDefinition, reqs []proto.Message) (*conformancev1.ConformancePayload, error) {
	info, err := requestInfo(ctx, reqs)
	if err != nil {
		return nil, err
	}
	setMetadata(ctx, def.GetResponseHeaders(), def.GetResponseTrailers())
	if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	if e := def.GetError(); e != nil {
		return nil, errorOf(e, info)
	}
	return &conformancev1.ConformancePayload{Data: def.GetResponseData(), RequestInfo: info}, nil
}

// answers are the responses of a call that streams them.
type answers struct {
	ctx  context.Context
	def  *conformancev1.StreamResponseDefinition // nil for none
	reqs []proto.Message                         // since the last response
	sent int
	send func(*conformancev1.ConformancePayload) error
}

// begin sends the headers, if there is a definition.
func (a *answers) begin(sendHeaders func() error) error {
	if a.def == nil {
		return nil
	}
	setMetadata(a.ctx, a.def.GetResponseHeaders(), a.def.GetResponseTrailers())
	return sendHeaders()
}

// more reports whether there are responses to send.
func (a *answers) more() bool { return a.sent < len(a.def.GetResponseData()) }

// next sends the next response. The first one says everything about the request, later
// ones the messages that have come since.
func (a *answers) next() error {
	p := &conformancev1.ConformancePayload{Data: a.def.GetResponseData()[a.sent]}
	var err error
	if a.sent == 0 {
		p.RequestInfo, err = requestInfo(a.ctx, a.reqs)
	} else if len(a.reqs) > 0 {
		p.RequestInfo = new(conformancev1.ConformancePayload_RequestInfo)
		p.RequestInfo.Requests, err = anyOf(a.reqs)
	}
	if err != nil {
		return err
	}
	if err := wait(a.ctx, a.def.GetResponseDelayMs()); err != nil {
		return err
	}
	a.reqs = nil
	a.sent++
	return a.send(p)
}

// finish sends the responses that are left, and returns the error of the definition.
func (a *answers) finish() error {
	for a.more() {
		if err := a.next(); err != nil {
			return err
		}
	}
	e := a.def.GetError()
	if e == nil {
		return nil
	}
	if a.sent > 0 {
		return errorOf(e, nil)
	}
	info, err := requestInfo(a.ctx, a.reqs)
	if err != nil {
		return err
	}
	return errorOf(e, info)
}

// setMetadata sets the headers and trailers of the response.
func setMetadata(ctx context.Context, headers, trailers []*conformancev1.Header) {
	call, _ := connect.CallInfoForServerContext(ctx)
	for _, h := range headers {
		for _, v := range h.GetValue() {
			call.ResponseHeader().Add(h.GetName(), v)
		}
	}
	for _, h := range trailers {
		for _, v := range h.GetValue() {
			call.ResponseTrailer().Add(h.GetName(), v)
		}
	}
}

// wait waits for so many milliseconds, or until the call ends.
func wait(ctx context.Context, ms uint32) error {
	if ms == 0 {
		return nil
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// requestInfo returns what the server has seen of a request.
func requestInfo(ctx context.Context, reqs []proto.Message) (*conformancev1.ConformancePayload_RequestInfo, error) {
	call, _ := connect.CallInfoForServerContext(ctx)
	info := new(conformancev1.ConformancePayload_RequestInfo)
	for name, values := range call.RequestHeader().All() {
		info.RequestHeaders = append(info.RequestHeaders, &conformancev1.Header{Name: name, Value: values})
	}
	if deadline, ok := ctx.Deadline(); ok {
		info.TimeoutMs = proto.Int64(time.Until(deadline).Milliseconds())
	}
	if h, _ := connecthttp.ServerInfoForContext(ctx); h.HTTPMethod() == http.MethodGet {
		info.ConnectGetInfo = new(conformancev1.ConformancePayload_ConnectGetInfo)
		for name, values := range h.HTTPGetQueryParams() {
			info.ConnectGetInfo.QueryParams = append(info.ConnectGetInfo.QueryParams, &conformancev1.Header{Name: name, Value: values})
		}
	}
	var err error
	info.Requests, err = anyOf(reqs)
	return info, err
}

func anyOf(messages []proto.Message) (all []*anypb.Any, err error) {
	for _, m := range messages {
		a, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// errorOf returns the error that a definition asks for. info becomes one of its details,
// if it isn't nil.
func errorOf(e *conformancev1.Error, info *conformancev1.ConformancePayload_RequestInfo) error {
	err := connect.NewError(connect.Code(e.GetCode()), e.GetMessage())
	for _, d := range e.GetDetails() {
		name := d.GetTypeUrl()[strings.LastIndexByte(d.GetTypeUrl(), '/')+1:]
		err = err.WithDetail(&connect.ErrorDetail{Type: name, Value: d.GetValue()})
	}
	if info == nil {
		return err
	}
	d, broken := connectproto.NewErrorDetail(info)
	if broken != nil {
		return broken
	}
	return err.WithDetail(d)
}
