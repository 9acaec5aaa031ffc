// SPDX-License-Identifier: Apache-2.0

// Command kubectl-aipub is the kubectl plugin `kubectl aipub`. It shows what
// the nodes and sets of a cluster are, what a PartitionPolicy would make of them,
// and how shares of GPUs are used. It only reads: nothing here writes to a cluster.
//
// Each command is three steps in files of their own: gather reads API objects
// from a cluster or from a file, pure functions turn them into rows or a plan,
// and output prints those as a table, JSON or YAML.
package main
