// SPDX-License-Identifier: Apache-2.0

// Package host reads what the kernel says about the machine itself: its NUMA
// nodes with their CPUs and memory, and which boot this is. The roots of /sys
// and /proc are handed in, so that it works in a container and in tests.
package host
