// SPDX-License-Identifier: Apache-2.0

package driver

import "testing"

func TestHostPath(t *testing.T) {
	tests := map[string]struct{ path, root, hostRoot, want string }{
		"same view":                {"/usr/lib/x", "/", "/", "/usr/lib/x"},
		"root is mounted":          {"/driver-root/usr/lib/x", "/driver-root", "/", "/usr/lib/x"},
		"driver in a container":    {"/driver-root/usr/lib/x", "/driver-root", "/run/nvidia/driver", "/run/nvidia/driver/usr/lib/x"},
		"outside of the root":      {"/dev/null", "/driver-root", "/", "/dev/null"},
		"name that begins alike":   {"/driver-root2/x", "/driver-root", "/", "/driver-root2/x"},
		"host root, agent at root": {"/dev/nvidia0", "/", "/run/driver", "/run/driver/dev/nvidia0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := hostPath(tc.path, tc.root, tc.hostRoot); got != tc.want {
				t.Errorf("hostPath = %s, want %s", got, tc.want)
			}
		})
	}
}
