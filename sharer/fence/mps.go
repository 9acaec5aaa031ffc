// SPDX-License-Identifier: Apache-2.0

package fence

import "strings"

// IsMPSServer reports whether a process is the server of NVIDIA's multi-process
// service, by the text of its /proc/PID/comm. The kernel keeps 15 characters of
// "nvidia-cuda-mps-server", which the control daemon's name shares; but that one is
// never on a GPU, and only processes that the driver lists are to be asked about.
func IsMPSServer(comm string) bool { return strings.TrimSpace(comm) == "nvidia-cuda-mps" }
