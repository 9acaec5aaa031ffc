// SPDX-License-Identifier: Apache-2.0

// Package wire is the memory and the messages that the node agent shares with
// the library that is preloaded into CUDA processes. wire.h is the contract and
// explains every word; this package is its Go twin, and a test compiles a C
// program to hold the two together. It does no input or output: sharer/socket
// maps the files and moves the messages.
package wire
