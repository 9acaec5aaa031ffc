// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Kernels is what a notebook server says of the work in it.
type Kernels struct {
	// At is when it was asked, ActiveAt when a kernel or a terminal last worked; now,
	// where one is busy.
	At, ActiveAt time.Time
	// Err says why nothing is known.
	Err error
}

// Jupyter asks notebook servers, each about once a minute, without holding up whoever
// wants to know.
type Jupyter struct {
	client *http.Client
	now    func() time.Time
	mu     sync.Mutex
	known  map[string]*asked
	slots  chan struct{}
}

type asked struct {
	Kernels
	used, asking bool
	next         time.Time
}

const (
	askEvery   = time.Minute
	askTimeout = 5 * time.Second
	askAtOnce  = 32
	answerSize = 1 << 20
)

// NewJupyter makes a Jupyter that knows nothing yet.
func NewJupyter(now func() time.Time) *Jupyter {
	client := &http.Client{Timeout: askTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Jupyter{client: client, now: now, known: map[string]*asked{}, slots: make(chan struct{}, askAtOnce)}
}

// errNotAsked is what is known before the first answer.
var errNotAsked = errors.New("its notebook server was not asked yet")

// Of is what is known of the server at an address, http://IP:PORT/BASE/; token may be
// empty. A new question is asked where the answer is old.
func (j *Jupyter) Of(ctx context.Context, address, token string) Kernels {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.known[address]
	if a == nil {
		a = &asked{Kernels: Kernels{Err: errNotAsked}}
		j.known[address] = a
	}
	a.used = true
	if now := j.now(); !a.asking && (!now.Before(a.next) || a.next.Sub(now) > askEvery) { // or the clock was set back
		a.asking, a.next = true, now.Add(askEvery)
		go j.ask(context.WithoutCancel(ctx), a, address, token)
	}
	return a.Kernels
}

// Forget drops the servers that nobody wanted to know of since it was called last.
func (j *Jupyter) Forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for address, a := range j.known {
		if !a.used && !a.asking {
			delete(j.known, address)
		}
		a.used = false
	}
}

func (j *Jupyter) ask(ctx context.Context, a *asked, address, token string) {
	j.slots <- struct{}{}
	defer func() { <-j.slots }()
	ctx, cancel := context.WithTimeout(ctx, 2*askTimeout)
	defer cancel()
	at := j.now()
	active, err := j.activity(ctx, address, token, at)
	j.mu.Lock()
	defer j.mu.Unlock()
	a.asking = false
	a.Kernels = Kernels{At: at, ActiveAt: active, Err: err}
}

// work is what the server says of one kernel or terminal.
type work struct {
	State        string    `json:"execution_state"`
	LastActivity time.Time `json:"last_activity"`
}

// activity is when something last worked. A busy kernel works now; a connection is no
// work. Servers without terminals answer 404, which is an answer.
func (j *Jupyter) activity(ctx context.Context, address, token string, now time.Time) (time.Time, error) {
	kernels, err := j.get(ctx, address+"api/kernels", token)
	if err != nil {
		return time.Time{}, err
	}
	terminals, err := j.get(ctx, address+"api/terminals", token)
	if err != nil && !errors.Is(err, errNotFound) {
		return time.Time{}, err
	}
	var last time.Time
	for _, w := range append(kernels, terminals...) {
		if w.State == "busy" || w.LastActivity.After(now) {
			return now, nil
		}
		if w.LastActivity.After(last) {
			last = w.LastActivity
		}
	}
	return last, nil
}

var errNotFound = errors.New("not found")

func (j *Jupyter) get(ctx context.Context, address, token string) ([]work, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	res, err := j.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask notebook server: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("ask notebook server for %s: %w", req.URL.Path, errNotFound)
	default:
		return nil, fmt.Errorf("ask notebook server for %s: answered %s", req.URL.Path, res.Status)
	}
	var out []work
	if err := json.NewDecoder(io.LimitReader(res.Body, answerSize)).Decode(&out); err != nil {
		return nil, fmt.Errorf("read answer of notebook server: %w", err)
	}
	return out, nil
}

// jupyterAddress is where a pod's server answers.
func jupyterAddress(ip string, port int32, base string) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(ip, strconv.Itoa(int(port))), Path: base}
	return u.JoinPath("/").String()
}
