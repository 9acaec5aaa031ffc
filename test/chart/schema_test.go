// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestValuesAreChecked(t *testing.T) {
	for name, tc := range map[string]struct{ set, want string }{
		"unknown key at the top":            {"nodes.privileged=true", "additional properties 'nodes' not allowed"},
		"misspelt key":                      {"node.privilegd=false", "at '/node': additional properties 'privilegd' not allowed"},
		"misspelt key in a list":            {"node.tolerations[0].kee=gpu", "at '/node/tolerations/0': additional properties 'kee' not allowed"},
		"misspelt key three levels down":    {"metrics.podMonitor.enable=true", "at '/metrics/podMonitor': additional properties 'enable' not allowed"},
		"misspelt resource":                 {"controller.resources.limits.memori=1Gi", "additional properties 'memori' not allowed"},
		"text for a number":                 {"controller.replicas=two", "at '/controller/replicas': got string, want integer"},
		"number out of range":               {"controller.replicas=0", "at '/controller/replicas': minimum: got 0, want 1"},
		"text for a switch":                 {"node.privileged=maybe", "at '/node/privileged': got string, want boolean"},
		"word that is not offered":          {"logLevel=loud", "at '/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"},
		"path that is not absolute":         {"node.driverRoot=run/nvidia", "at '/node/driverRoot': 'run/nvidia' does not match pattern"},
		"all of the host as the run folder": {"node.runDir=/", "at '/node/runDir': '/' does not match pattern '^(/[A-Za-z0-9_-]"},
		"a run folder that is relative":     {"node.runDir=run/aipub", "at '/node/runDir': 'run/aipub' does not match pattern"},
		"a run folder that ends in ..":      {"node.runDir=/run/aipub/..", "at '/node/runDir': '/run/aipub/..' does not match pattern"},
		"no run folder":                     {"node.runDir=", "at '/node/runDir': '' does not match pattern"},
		"idleness that is taken away":       {"node.idle=null", "at '/node': missing property 'idle'"},
		"a GPU that is always idle":         {"node.idle.gpuPercent=101", "at '/node/idle/gpuPercent': maximum: got 101, want 100"},
		"a limiter that is taken away":      {"node.limiter=null", "at '/node': missing property 'limiter'"},
		"half a limiter":                    {"node.limiter.enabled=null", "at '/node/limiter': missing property 'enabled'"},
		"capability with the kernel's CAP":  {"node.capabilities[0]=CAP_SYS_ADMIN", "at '/node/capabilities/0'"},
		"clean-up shorter than the grace":   {"cleanup.timeoutMinutes=2", "at '/cleanup/timeoutMinutes': minimum: got 2, want 6"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, err := helm(t, "template", "aipub", chartDir, "--set", tc.set)
			if err == nil {
				t.Fatalf("--set %s was accepted", tc.set)
			}
			if !strings.Contains(stderr, tc.want) {
				t.Errorf("--set %s: the message lacks %q:\n%s", tc.set, tc.want, stderr)
			}
		})
	}
}

// free are objects that Kubernetes checks itself.
var free = map[string]bool{
	"/global": true, "/$defs/affinity/nodeAffinity": true, "/$defs/affinity/podAffinity": true, "/$defs/affinity/podAntiAffinity": true,
	"/$defs/env/valueFrom": true, "/$defs/volume": true,
	"/networkPolicy/metricsFrom/[]/namespaceSelector": true, "/networkPolicy/metricsFrom/[]/podSelector": true, "/networkPolicy/metricsFrom/[]/ipBlock": true,
}

func TestSchemaIsClosedAndDescribed(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "", schema)
	for name, definition := range schema["$defs"].(map[string]any) {
		checkSchema(t, "/$defs/"+name, definition.(map[string]any))
	}
}

func checkSchema(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	_, open := schema["additionalProperties"]
	if isObject(schema["type"]) && !open && !free[path] {
		t.Errorf("%s: accepts unknown keys; set additionalProperties", path)
	}
	properties, _ := schema["properties"].(map[string]any)
	for key, value := range properties {
		property := value.(map[string]any)
		_, refers := property["$ref"]
		if property["description"] == nil && !refers {
			t.Errorf("%s/%s: has no description", path, key)
		}
		checkSchema(t, path+"/"+key, property)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkSchema(t, path+"/[]", items)
	}
}

func isObject(kind any) bool {
	kinds, _ := kind.([]any)
	return kind == "object" || len(kinds) > 0 && kinds[0] == "object"
}

// Every value must be known to the schema and every key of the schema must have
// a default that readers of values.yaml find.
func TestSchemaAndValuesNameTheSameKeys(t *testing.T) {
	values, schema := map[string]any{}, map[string]any{}
	for path, into := range map[string]*map[string]any{"values.yaml": &values, "values.schema.json": &schema} {
		raw, err := os.ReadFile(filepath.Join(chartDir, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	compareKeys(t, "", values, schema)
}

func compareKeys(t *testing.T, path string, values, schema map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	for key, value := range properties {
		nested, has := values[key]
		if !has && path+"/"+key != "/global" {
			t.Errorf("%s/%s: in the schema but not in values.yaml", path, key)
		}
		if children, ok := nested.(map[string]any); ok {
			compareKeys(t, path+"/"+key, children, value.(map[string]any))
		}
	}
	for key := range values {
		if properties[key] == nil {
			t.Errorf("%s/%s: in values.yaml but not in the schema", path, key)
		}
	}
}
