// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"slices"
	"testing"
)

func TestMissing(t *testing.T) {
	if got := missing(func(string) bool { return true }); len(got) != 0 {
		t.Errorf("with every file there: %v", got)
	}
	got := missing(func(path string) bool { return path != Runc && path != Etcd })
	if want := []string{"etcd-server", "runc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	oneOfTwo := func(path string) bool { return path != "/sbin/ip" }
	if got := missing(oneOfTwo); len(got) != 0 {
		t.Errorf("a package whose file has another place counts as missing: %v", got)
	}
}
