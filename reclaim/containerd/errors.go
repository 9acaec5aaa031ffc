// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "aipub.io/aipub/api/v1alpha1"
)

// Error is a failure with its reason, one of those that a WorkspaceSnapshot can have.
type Error struct {
	why string
	err error
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Reason is one of api.ReasonContainerGone, ReasonDiskFull, ReasonHookFailed,
// ReasonNotSupported, ReasonRegistryFailed and ReasonRuntimeFailed.
func (e *Error) Reason() string { return e.why }

// failed says what was being done when containerd returned an error. A disk that is full
// has a reason of its own, also where another process met it; an error that has a reason
// keeps it.
func failed(doing string, err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return &Error{known.why, fmt.Errorf("%s: %w", doing, err)}
	}
	why := api.ReasonRuntimeFailed
	if diskFull(err) {
		why = api.ReasonDiskFull
	}
	return &Error{why, fmt.Errorf("%s: %w", doing, plain(err))}
}

func because(why, format string, args ...any) error {
	return &Error{why, fmt.Errorf(format, args...)}
}

// diskFull knows the error by its words too: gRPC carries nothing else of it.
func diskFull(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, errno) || strings.Contains(err.Error(), errno.Error()) {
			return true
		}
	}
	return false
}

// plain leaves out gRPC's own words around a message.
func plain(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown && s.Message() != "" {
		return errors.New(s.Message())
	}
	return err
}

func notFound(err error) bool      { return status.Code(err) == codes.NotFound }
func alreadyExists(err error) bool { return status.Code(err) == codes.AlreadyExists }
