// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Notice is what is posted to the URL of a ReclaimPolicy, as JSON.
type Notice struct {
	// Reason is ReclaimWarning, Active (a pause that was announced is off), Paused or
	// SaveFailed.
	Reason    string `json:"reason"`
	Policy    string `json:"policy"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	User      string `json:"user"`
	Project   string `json:"project"`
	// ExpiresAt is the deadline that is spoken of.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Message is a sentence for people.
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// Notifier posts notices without holding anybody up.
type Notifier struct {
	client *http.Client
	queue  chan posting
	// failed is told what could not be delivered.
	failed func(n Notice, err error)
}

type posting struct {
	url    string
	notice Notice
}

// How a notice is delivered: four tries within about a minute, and queues that hold what
// a storm of deadlines brings. What finds its queue full is counted as failed.
var delivery = wait.Backoff{Duration: 2 * time.Second, Factor: 3, Steps: 4, Jitter: 0.1}

const (
	queued         = 10_000
	posters        = 4 // of a URL
	postingTimeout = 10 * time.Second
	mostHops       = 5
)

// NewNotifier makes a Notifier; failed may be nil.
func NewNotifier(failed func(Notice, error)) *Notifier {
	if failed == nil {
		failed = func(Notice, error) {}
	}
	client := &http.Client{Timeout: postingTimeout, CheckRedirect: asItWasSent}
	return &Notifier{client: client, queue: make(chan posting, queued), failed: failed}
}

// asItWasSent follows where a notice is sent on to, and nowhere that would get a question
// without the notice instead (301, 302, 303): the answer to that says nothing.
func asItWasSent(req *http.Request, via []*http.Request) error {
	if req.Method != http.MethodPost || len(via) > mostHops {
		return http.ErrUseLastResponse
	}
	return nil
}

// Send queues a notice for a URL.
func (n *Notifier) Send(url string, notice Notice) {
	n.enqueue(n.queue, posting{url, notice})
}

// Start delivers until the context ends. Only the leader does. Each URL has a queue and
// posters of its own, so that one that hangs holds up nobody else's notices; there are no
// more of them than policies have named since the start.
func (n *Notifier) Start(ctx context.Context) error {
	lanes := map[string]chan posting{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-n.queue:
			lane, ok := lanes[p.url]
			if !ok {
				lane = make(chan posting, queued)
				lanes[p.url] = lane
				for range posters {
					go n.deliver(ctx, lane)
				}
			}
			n.enqueue(lane, p)
		}
	}
}

func (n *Notifier) enqueue(queue chan<- posting, p posting) {
	select {
	case queue <- p:
	default:
		n.failed(p.notice, fmt.Errorf("post notice: %d wait already", queued))
	}
}

func (n *Notifier) deliver(ctx context.Context, lane <-chan posting) {
	log := logr.FromContextOrDiscard(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-lane:
			var last error
			err := wait.ExponentialBackoffWithContext(ctx, delivery, func(ctx context.Context) (bool, error) {
				last = n.post(ctx, p)
				return last == nil, nil
			})
			if err != nil {
				log.Info("Notice was not delivered", "policy", p.notice.Policy, "workload", p.notice.Namespace+"/"+p.notice.Name, "error", fmt.Sprint(last))
				n.failed(p.notice, last)
			}
		}
	}
}

func (n *Notifier) post(ctx context.Context, p posting) error {
	raw, err := json.Marshal(p.notice)
	if err != nil {
		return fmt.Errorf("encode notice: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := n.client.Do(req)
	if err != nil {
		return fmt.Errorf("post notice: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, 1<<16)
	if res.StatusCode >= 300 {
		return fmt.Errorf("post notice: answered %s", res.Status)
	}
	return nil
}
