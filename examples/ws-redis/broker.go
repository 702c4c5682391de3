package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/galehttp/gale/ws"
)

const (
	prefix   = "ws:" // of the names of channels
	patience = 5 * time.Second
)

// broker is a ws.Broker over Redis. A message on a channel is a byte for the type and the
// data. The client of Redis connects again by itself when it has lost its connection, and
// subscribes again. Messages that are published meanwhile are lost: Redis keeps none.
type broker struct {
	client *redis.Client
	pubsub *redis.PubSub // one connection for all channels

	mu      sync.Mutex
	waiting map[string]chan struct{} // channels whose Subscribe waits for Redis
}

// newBroker returns a broker that delivers to topics.
func newBroker(client *redis.Client, topics *ws.Topics) *broker {
	b := &broker{client: client, pubsub: client.Subscribe(context.Background()), waiting: make(map[string]chan struct{})}
	go b.receive(topics)
	return b
}

// Publish implements ws.Broker.
func (b *broker) Publish(topic string, t ws.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return b.client.Publish(ctx, prefix+topic, append([]byte{byte(t)}, data...)).Err()
}

// Subscribe implements ws.Broker. It waits until Redis has confirmed: messages that are
// published from then on arrive.
func (b *broker) Subscribe(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	channel := prefix + topic
	confirmed := make(chan struct{})
	b.mu.Lock()
	b.waiting[channel] = confirmed
	b.mu.Unlock()
	err := b.pubsub.Subscribe(ctx, channel)
	if err == nil {
		select {
		case <-confirmed:
			return nil
		case <-ctx.Done():
			err = fmt.Errorf("no confirmation from Redis: %w", ctx.Err())
		}
	}
	b.mu.Lock()
	delete(b.waiting, channel)
	b.mu.Unlock()
	_ = b.Unsubscribe(topic) // or the client would subscribe when it has connected again
	return err
}

// Unsubscribe implements ws.Broker.
func (b *broker) Unsubscribe(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return b.pubsub.Unsubscribe(ctx, prefix+topic)
}

// receive delivers what comes from Redis.
func (b *broker) receive(topics *ws.Topics) {
	for event := range b.pubsub.ChannelWithSubscriptions() {
		switch event := event.(type) {
		case *redis.Subscription:
			if event.Kind == "subscribe" {
				b.confirm(event.Channel)
			}
		case *redis.Message:
			if len(event.Payload) == 0 || len(event.Channel) < len(prefix) {
				continue // not of a broker
			}
			_, _ = topics.Deliver(event.Channel[len(prefix):], ws.MessageType(event.Payload[0]), []byte(event.Payload[1:]))
		}
	}
}

func (b *broker) confirm(channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if confirmed := b.waiting[channel]; confirmed != nil {
		close(confirmed)
		delete(b.waiting, channel)
	}
}
