// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxOutputBytes is how much of a command's output is kept, from its end.
const maxOutputBytes = 4 << 10

// execSlack is how much longer than a command's own timeout its answer is waited for.
const execSlack = 10 * time.Second

// Find returns the id of the container of a pod that runs now: not one that ran before
// it was restarted. The error's reason is ContainerGone when there is none. The pod must
// be in the namespace, so that who may ask for saves there reaches no others.
func (c *Client) Find(ctx context.Context, podNamespace, podUID, container string) (string, error) {
	list, err := c.containers.List(ctx, &containers.ListContainersRequest{Filters: []string{fmt.Sprintf(
		`labels."io.kubernetes.pod.namespace"==%s,labels."io.kubernetes.pod.uid"==%s,labels."io.kubernetes.container.name"==%s,labels."io.cri-containerd.kind"==container`,
		strconv.Quote(podNamespace), strconv.Quote(podUID), strconv.Quote(container))}})
	if err != nil {
		return "", failed("list containers", err)
	}
	var newest *containers.Container
	for _, one := range list.Containers {
		alive, err := c.alive(ctx, one.ID)
		if err != nil {
			return "", err
		}
		if alive && (newest == nil || one.CreatedAt.AsTime().After(newest.CreatedAt.AsTime())) {
			newest = one
		}
	}
	if newest == nil {
		return "", because(api.ReasonContainerGone, "find container %s of pod %s in namespace %s: it does not run on this node", container, podUID, podNamespace)
	}
	return newest.ID, nil
}

// alive reports whether the processes of a container run, or are frozen.
func (c *Client) alive(ctx context.Context, id string) (bool, error) {
	got, err := c.tasks.Get(ctx, &tasks.GetRequest{ContainerID: id})
	if notFound(err) {
		return false, nil
	}
	if err != nil {
		return false, failed("look at container "+id, err)
	}
	switch got.Process.Status {
	case task.Status_RUNNING, task.Status_PAUSING, task.Status_PAUSED:
		return true, nil
	default:
		return false, nil
	}
}

// Exec runs a command in a container, without a shell, and returns its exit code and the
// last 4 KiB of what it wrote, its errors last. One that cannot be started, or that does
// not end in time and is killed, is an error with reason HookFailed.
func (c *Client) Exec(ctx context.Context, id string, command []string, timeout time.Duration) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+execSlack)
	defer cancel()
	seconds := int64((timeout + time.Second - 1) / time.Second)
	got, err := c.runtime.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: seconds})
	switch {
	case err == nil:
		return int(got.ExitCode), tail(string(got.Stdout)+string(got.Stderr), maxOutputBytes), nil
	case status.Code(err) == codes.DeadlineExceeded:
		return 0, "", because(api.ReasonHookFailed, "run %q: it did not end within %d s and was killed", command, seconds)
	case strings.Contains(err.Error(), "failed to start exec"): // no such program, say
		return 0, "", because(api.ReasonHookFailed, "run %q: %w", command, plain(err))
	case notFound(err):
		return 0, "", because(api.ReasonContainerGone, "run %q: container %s is gone", command, id)
	}
	return 0, "", failed(fmt.Sprintf("run %q", command), err)
}

func tail(s string, most int) string {
	if len(s) > most {
		return s[len(s)-most:]
	}
	return s
}
