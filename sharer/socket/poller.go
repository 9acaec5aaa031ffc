// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer"
)

// poller waits for file descriptors, for a moment on CLOCK_MONOTONIC, and for
// wake. Only the loop's goroutine waits; the other methods need the server's
// lock, but for wake.
type poller struct {
	epoll, timer, wakeup int
	handlers             map[token]func(hangup bool)
	generation           int32
}

// token names a registration. A file descriptor that was closed may come back
// for another file while events of the old one are still in the batch; its
// generation is another.
type token struct{ fd, generation int32 }

func newPoller() (*poller, error) {
	p := &poller{epoll: -1, timer: -1, wakeup: -1, handlers: map[token]func(bool){}}
	if err := p.open(); err != nil {
		p.close()
		return nil, fmt.Errorf("open epoll: %w", err)
	}
	return p, nil
}

func (p *poller) open() (err error) {
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	if p.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	for _, fd := range []int{p.timer, p.wakeup} {
		if _, err := p.add(fd, func(bool) { drain(fd) }); err != nil {
			return err
		}
	}
	return nil
}

func drain(fd int) {
	var b [8]byte
	_, _ = unix.Read(fd, b[:])
}

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.timer, p.wakeup} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// add calls ready each time that a wait finds fd readable, or hung up: at the end
// of what there is to read nothing more will come.
func (p *poller) add(fd int, ready func(hangup bool)) (token, error) {
	p.generation++
	t := token{int32(fd), p.generation}
	e := t.event(unix.EPOLLIN)
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return token{}, fmt.Errorf("watch file descriptor: %w", err)
	}
	p.handlers[t] = ready
	return t, nil
}

// pause stops and resumes the calls for what is readable. A hang-up is still
// told.
func (p *poller) pause(t token, paused bool) {
	e := t.event(unix.EPOLLIN)
	if paused {
		e.Events = 0
	}
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, int(t.fd), &e)
}

// closeFD ends a registration and closes its file.
func (p *poller) closeFD(t token) {
	delete(p.handlers, t)
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, int(t.fd), nil)
	_ = unix.Close(int(t.fd))
}

func (t token) event(events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: t.fd, Pad: t.generation}
}

// wake ends the wait.
func (p *poller) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.wakeup, one[:])
}

// until sets the moment at which wait returns at the latest.
func (p *poller) until(t sharer.Instant) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(t), 1))}
	if err := unix.TimerfdSettime(p.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set timer: %w", err)
	}
	return nil
}

// wait sleeps until something is ready and returns what. The handlers are for
// the caller to run, under its lock.
func (p *poller) wait(events []unix.EpollEvent) ([]unix.EpollEvent, error) {
	n, err := unix.EpollWait(p.epoll, events, -1)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wait for events: %w", err)
	}
	return events[:n], nil
}

// handle runs the handler of an event, unless the registration has ended.
func (p *poller) handle(e unix.EpollEvent) {
	if ready := p.handlers[token{e.Fd, e.Pad}]; ready != nil {
		ready(e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// MonotonicNow is the present on CLOCK_MONOTONIC, the clock that the processes
// of slices use too.
func MonotonicNow() sharer.Instant {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return sharer.Instant(time.Duration(ts.Nano()))
}
