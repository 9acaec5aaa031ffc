// SPDX-License-Identifier: Apache-2.0

// Command kubectl-aipub is the kubectl plugin `kubectl aipub`. It shows what
// the nodes and sets of a cluster are, what a PartitionPolicy would make of them,
// how shares of GPUs are used, who holds what of which quota, and who waits for
// what. It only reads, but for queue move and queue promote, which write one annotation
// of one workload, and workspace create, pause, resume and extend.
//
// Each command is three steps in files of their own: gather reads API objects
// from a cluster or from a file, pure functions turn them into rows or a plan,
// and output prints those as a table, JSON or YAML.
package main
