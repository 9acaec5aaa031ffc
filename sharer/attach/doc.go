// SPDX-License-Identifier: Apache-2.0

// Package attach finds processes that use a shared GPU past the limiter. The
// preloaded library limits only those that load it: a static binary, an image
// with another C library or a cleared environment would have the whole GPU. So
// attachment is proven: what the driver says is on a GPU is held against what
// sharer/socket says is attached.
//
// An Auditor is given samples, every 500 ms or sooner, and answers with findings
// and with corrections of the ledgers. It does no input or output. What to do
// about a finding is for Policy to say, and for the caller to do. Proc is the one
// adapter: it reads from /proc which container a process belongs to and who has
// device files open.
package attach
