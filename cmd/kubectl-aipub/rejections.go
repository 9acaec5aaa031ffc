// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
)

// rejectionWords says which set was refused and why.
func rejectionWords(r api.Rejection) string {
	s := r.Reason + ": " + r.Message
	if r.Set != "" {
		s = "set " + r.Set + ": " + s
	}
	return s
}

// rejectionLines are rejections with their nodes; what is the same on several
// nodes is said once.
func rejectionLines(list []api.Rejection) []string {
	nodes := map[string]int{}
	for _, r := range list {
		nodes[withoutNode(r)]++
	}
	var lines []string
	for _, r := range list {
		n := nodes[withoutNode(r)]
		if n == 0 {
			continue
		}
		nodes[withoutNode(r)] = 0
		line := rejectionWords(r)
		if r.Node != "" {
			line = "node " + r.Node + ": " + line
		}
		if n > 1 {
			line += fmt.Sprintf(" (the same on %s more)", plural(n-1, "node"))
		}
		lines = append(lines, line)
	}
	return lines
}

// withoutNode is what a rejection says but for the name of the node.
func withoutNode(r api.Rejection) string {
	message := r.Message
	if r.Node != "" {
		message = strings.ReplaceAll(message, r.Node, "")
	}
	return strings.Join([]string{r.Set, r.Reason, message}, "\x00")
}
