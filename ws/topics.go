package ws

import (
	"errors"
	"fmt"
	"log"

	"github.com/galehttp/gale"
)

// Broker connects the Topics of several processes. Any number of goroutines may call its
// methods at the same time.
//
// A broker that loses its connection must subscribe again to what it was subscribed to:
// Topics doesn't know of it. [Topics.Names] has the list.
type Broker interface {
	// Publish sends a message to all processes, also to the one that calls it. Each calls
	// Topics.Deliver once for it; Publish itself may do so. data belongs to the caller again
	// when Publish returns.
	Publish(topic string, t MessageType, data []byte) error
	// Subscribe is called when the first member subscribes to topic, and Unsubscribe when
	// the last one has left. The calls for one topic come one at a time. A member that
	// subscribes waits for Subscribe, and is no member afterwards if it returns an error.
	// Unsubscribe is called later, on a goroutine of Topics; its errors are logged. It isn't
	// called if a member subscribes again in the meantime.
	Subscribe(topic string) error
	Unsubscribe(topic string) error
}

// Topics sends messages to all WebSockets that have subscribed to a topic. Its zero value
// is ready. Any goroutine may call its methods, also in callbacks. It must not be copied.
//
// A member that reads slowly doesn't hold up others: messages for it wait in its queue, see
// Options.MaxQueue and QueuePolicy. A member that has ended leaves all topics; in
// Handler.OnClose it has left.
//
// All members of a topic get its messages in the same order, and those of one goroutine
// in the order in which it published them.
type Topics struct {
	noCopy noCopy

	// Broker, if it isn't nil, gets what Publish is called with, so that the members in
	// other processes get it too. It must be set before the first call.
	Broker Broker
	// MaxTopics is how many topics a member may have, those of other Topics included
	// (default 1000). Negative means no limit. Clients often choose the names of topics.
	MaxTopics int
	// Logger receives the errors and panics of Broker.Unsubscribe. The default writes to
	// standard error.
	Logger gale.Logger

	shards [topicShards]topicShard
	left   leavers
}

// maxTopicName is the longest name of a topic in bytes.
const maxTopicName = 1024

// Errors of Topics.Subscribe.
var (
	// ErrTooManyTopics says that a member has Topics.MaxTopics topics.
	ErrTooManyTopics = errors.New("ws: the WebSocket has subscribed to too many topics")
	// ErrTopicName says that the name of a topic is longer than 1024 bytes.
	ErrTopicName = errors.New("ws: the name of a topic is longer than 1024 bytes")
)

// Subscribe lets m get the messages of topic that are published after it returns. If m has
// subscribed to it already, it does nothing. topic is any string of at most 1024 bytes; it
// is copied.
//
// It returns ErrClosed if m has ended, ErrTooManyTopics, ErrTopicName, or the error of the
// Broker, which it waits for.
func (t *Topics) Subscribe(m Member, topic string) error {
	if len(topic) > maxTopicName {
		return ErrTopicName
	}
	limit := t.MaxTopics
	if limit == 0 {
		limit = 1000
	}
	for {
		sub, err := t.join(m, topic, limit)
		if err != nil || t.Broker == nil {
			return err
		}
		ok, err := t.link(sub)
		if err != nil {
			return fmt.Errorf("ws: subscribing to a topic: %w", err)
		}
		if ok {
			return nil
		}
		// Another call has ended the subscription before the Broker was asked.
	}
}

// Unsubscribe ends the subscription of m to topic, if there is one. It doesn't wait for the
// Broker. Messages that are being published at the same time may still arrive.
func (t *Topics) Unsubscribe(m Member, topic string) {
	m.memberships().leave(t, topic)
}

// Publish sends a message to the members of topic: by the Broker if there is one, else by
// Deliver. data belongs to the caller again when it returns. The error is ErrMessageType
// or the Broker's.
func (t *Topics) Publish(topic string, mt MessageType, data []byte) error {
	if mt != Text && mt != Binary {
		return ErrMessageType
	}
	if t.Broker != nil {
		return t.Broker.Publish(topic, mt, data)
	}
	_, err := t.Deliver(topic, mt, data)
	return err
}

// Deliver sends a message to the members of topic in this process. It returns how many got it
// into their queues. It waits for no member, only for another Deliver to the same topic
// that runs. data belongs to the caller again when it returns. The error is ErrMessageType.
func (t *Topics) Deliver(topic string, mt MessageType, data []byte) (n int, err error) {
	if mt != Text && mt != Binary {
		return 0, ErrMessageType
	}
	shard := t.shard(topic)
	shard.mu.Lock()
	tp := shard.topics[topic]
	shard.mu.Unlock()
	if tp == nil {
		return 0, nil
	}
	p, err := Prepare(mt, data)
	if err != nil {
		return 0, err
	}
	return tp.deliver(p), nil
}

// Members returns how many members topic has in this process.
func (t *Topics) Members(topic string) int {
	shard := t.shard(topic)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if tp := shard.topics[topic]; tp != nil {
		return tp.members
	}
	return 0
}

// Names returns the topics that have members in this process, in no order.
func (t *Topics) Names() []string {
	var names []string
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		for name, tp := range shard.topics {
			if tp.members > 0 {
				names = append(names, name)
			}
		}
		shard.mu.Unlock()
	}
	return names
}

// logf logs, and recovers from a panic of the Logger.
func (t *Topics) logf(format string, args ...any) {
	logger := t.Logger
	if logger == nil {
		logger = log.Default()
	}
	defer func() { _ = recover() }()
	logger.Printf(format, args...)
}
