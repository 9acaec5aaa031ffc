// SPDX-License-Identifier: Apache-2.0

// Package workspace makes a Workspace run, pause and come back: a StatefulSet of one
// replica with updates on delete, a Service, a claim for its home, and before each
// pause a WorkspaceSnapshot that the agent of its node carries out.
//
// [Next] decides, on what the cluster shows; [Controller] reads and writes. A kill at
// any point loses nothing: what was begun stands in the objects themselves.
package workspace
