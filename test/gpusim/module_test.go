// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// nvmlHeader reads the nvml.h that go-nvml was made from; it lies beside its
// sources, whose path this binary knows unless it was built with -trimpath.
func nvmlHeader(t *testing.T) string {
	t.Helper()
	file, _ := runtime.FuncForPC(reflect.ValueOf(nvml.New).Pointer()).FileLine(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "nvml.h"))
	if err != nil {
		t.Skipf("find nvml.h: %v", err)
	}
	return string(data)
}
