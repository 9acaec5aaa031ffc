// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
)

// mistakes is what is wrong with an input, each line with its field path.
type mistakes struct {
	where string
	lines []string
}

// Error is one sentence for one mistake, and a list for several.
func (m *mistakes) Error() string {
	if len(m.lines) == 1 {
		return m.where + ": " + m.lines[0]
	}
	return fmt.Sprintf("%s has %d mistakes:\n  %s", m.where, len(m.lines), strings.Join(m.lines, "\n  "))
}

// readPolicy reads the policy of a file, "-" being standard input. With a name
// it is the one of that name; without, there must be only one.
func (a *app) readPolicy(file, name string) (api.PartitionPolicy, error) {
	where := file
	if file == "-" {
		where = "standard input"
	}
	raw, err := a.read(file)
	if err != nil {
		return api.PartitionPolicy{}, fmt.Errorf("read policy: %w", err)
	}
	policies, err := parsePolicies(bytes.NewReader(raw), where)
	if err != nil {
		return api.PartitionPolicy{}, err
	}
	return choosePolicy(policies, where, name)
}

// parsePolicies reads the PartitionPolicies of YAML or JSON documents; other
// kinds are passed over. A policy is read strictly: a field that does not exist,
// is given twice or has the wrong type is refused with its path.
func parsePolicies(in io.Reader, where string) ([]api.PartitionPolicy, error) {
	docs := utilyaml.NewYAMLReader(bufio.NewReader(in))
	var found []api.PartitionPolicy
	var other []string
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", where, err)
		}
		p, kind, err := parsePolicy(doc, where)
		switch {
		case err != nil:
			return nil, err
		case p != nil:
			found = append(found, *p)
		case kind != "":
			other = append(other, kind)
		}
	}
	if len(found) == 0 && len(other) > 0 {
		return nil, fmt.Errorf("%s holds no PartitionPolicy of apiVersion %s, only %s", where, api.GroupVersion, strings.Join(other, ", "))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is empty; write a PartitionPolicy of apiVersion %s into it", where, api.GroupVersion)
	}
	return found, nil
}

// parsePolicy reads one document: a policy, or else the kind that it is.
func parsePolicy(doc []byte, where string) (p *api.PartitionPolicy, kind string, err error) {
	raw, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, "", &mistakes{where, []string{strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, "", fmt.Errorf("read %s: %w", where, err)
	}
	if tree == nil {
		return nil, "", nil
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, "", &mistakes{where, []string{"is not an object with apiVersion, kind, metadata and spec"}}
	}
	version, _ := fields["apiVersion"].(string)
	kind, _ = fields["kind"].(string)
	if kind != "PartitionPolicy" || version != api.GroupVersion.String() {
		return nil, fmt.Sprintf("%s %s", orElse(version, "(no apiVersion)"), orElse(kind, "(no kind)")), nil
	}
	p = &api.PartitionPolicy{}
	if lines := checkShape(p, tree); len(lines) > 0 {
		return nil, kind, &mistakes{where, lines}
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, kind, &mistakes{where, []string{err.Error()}}
	}
	if p.Name == "" {
		return nil, kind, &mistakes{where, []string{"metadata.name: give the policy a name"}}
	}
	return p, kind, nil
}

func choosePolicy(policies []api.PartitionPolicy, where, name string) (api.PartitionPolicy, error) {
	if name == "" && len(policies) == 1 {
		return policies[0], nil
	}
	var names []string
	for _, p := range policies {
		names = append(names, p.Name)
	}
	if name == "" {
		return api.PartitionPolicy{}, fmt.Errorf("%s holds %d policies; name one of them: %s", where, len(policies), strings.Join(names, ", "))
	}
	i := slices.Index(names, name)
	if i < 0 {
		return api.PartitionPolicy{}, fmt.Errorf("%s holds no policy %q; it holds %s", where, name, strings.Join(names, ", "))
	}
	return policies[i], nil
}
