// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"time"
)

// writeWhy prints who a pod is, one sentence, and its steps.
func writeWhy(d *whyDoc, out *output, b *bytes.Buffer, now time.Time) error {
	fields := []field{{"Pod", d.Pod}}
	if d.Project != "" {
		fields = append(fields, field{"Workload", fmt.Sprintf("%s (%s)", d.Workload, d.Type)},
			field{"Charged", fmt.Sprintf("user %s, project %s", d.User, d.Project)})
	}
	if len(d.Sets) > 0 {
		fields = append(fields, field{"Sets", setWords(d.Sets)})
	}
	fields = append(fields, field{"Age", age(d.Created, now)}, field{"In short", d.Summary})
	writeFields(b, fields)
	t := columns("Step", "Says", "Reason", "Since", "Why")
	for _, s := range d.Steps {
		since := ""
		if s.Since != nil {
			since = age(*s.Since, now)
		}
		addRow(t, s.Step, s.Says, s.Reason, since, s.Message)
	}
	return out.tables(b, t)
}
