// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// schedRR is SCHED_RR of sched_setscheduler(2), and lowestRealTime its least
// urgent priority.
const (
	schedRR        = 2
	lowestRealTime = 1
)

// hurry makes the calling goroutine's thread run before ordinary programs, and
// reports how. Every handover of a GPU waits for this thread, and a busy node's
// programs would otherwise keep it waiting for milliseconds. It sleeps nearly all
// the time, and the kernel keeps a part of each second for others whatever a
// real-time thread does (sched(7)). Where that is not allowed (CAP_SYS_NICE), a
// better nice value has to do.
//
// The thread ends with the goroutine.
func hurry() string {
	runtime.LockOSThread()
	parameters := struct{ priority int32 }{lowestRealTime}
	if _, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, schedRR, uintptr(unsafe.Pointer(&parameters))); e == 0 {
		return "real-time"
	}
	const better = -11
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, better); err == nil {
		return "nice"
	}
	return "ordinary"
}
