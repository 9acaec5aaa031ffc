// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

const prefix = "aipub.io/workspaces/"

func imageFor(t *testing.T, snapshot string) string {
	return prefix + "lab/" + strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-")) + ":" + snapshot
}

// committed is what Commit returned.
type committed struct {
	digest string
	bytes  int64
}

func (p *pod) commit(image string) committed {
	p.t.Helper()
	digest, bytes, err := p.c.Commit(p.t.Context(), p.id, image)
	if err != nil {
		p.t.Fatalf("commit: %v", err)
	}
	p.t.Cleanup(func() { p.c.Remove(context.WithoutCancel(p.t.Context()), image) })
	for limit := time.Now().Add(20 * time.Second); p.d.image(p.t.Context(), image) == nil; {
		if time.Now().After(limit) {
			p.t.Fatalf("the kubelet is not told of image %s", image)
		}
	}
	return committed{digest, bytes}
}

func manifestOf(t *testing.T, c *Client, digest string) (v1.Manifest, v1.ConfigFile) {
	t.Helper()
	var manifest v1.Manifest
	var config v1.ConfigFile
	raw, err := c.document(t.Context(), digest)
	if err == nil {
		err = json.Unmarshal(raw, &manifest)
	}
	if err == nil {
		raw, err = c.document(t.Context(), manifest.Config.Digest.String())
	}
	if err == nil {
		err = json.Unmarshal(raw, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return manifest, config
}

func TestASavedContainerComesBackAsItWasAndStaysOneLayer(t *testing.T) {
	d, c := running(t)
	first := run(t, d, c, busybox)
	first.sh(`set -e
		mkdir -p /work/deep; echo one >/work/deep/a; echo gone >/work/b; chmod 4711 /work/deep/a; chown 7:8 /work/deep/a
		ln -s deep/a /work/link; rm /etc/group; echo changed >>/etc/passwd; rm -r /root; mkdir /root; echo new >/root/n`)
	look := `cat /work/link; stat -c '%a %u %g' /work/deep/a; ls /etc; tail -n 1 /etc/passwd; ls -A /root; ls /work`
	want := first.sh(look)
	one := first.commit(imageFor(t, "one"))
	first.nothingLeft()

	second := run(t, d, c, imageFor(t, "one"))
	if diff := cmp.Diff(want, second.sh(look)); diff != "" {
		t.Errorf("what came back (-saved +got):\n%s", diff)
	}
	second.sh(`rm /work/b /root/n; echo two >/work/c; echo back >/etc/group`)
	want = second.sh(look)
	two := second.commit(imageFor(t, "two"))
	second.nothingLeft()

	third := run(t, d, c, imageFor(t, "two"))
	if diff := cmp.Diff(want, third.sh(look)); diff != "" {
		t.Errorf("what came back the second time (-saved +got):\n%s", diff)
	}
	for _, done := range []committed{one, two} {
		manifest, config := manifestOf(t, c, done.digest)
		if n := len(manifest.Layers); n != 2 || len(config.RootFS.DiffIDs) != 2 || config.Config.Labels[BaseLayersLabel] != "1" {
			t.Errorf("%d layers, %d in the configuration, label %q; want one over a base of one", n, len(config.RootFS.DiffIDs), config.Config.Labels[BaseLayersLabel])
		}
		if size := manifest.Layers[1].Size; size != done.bytes || size == 0 {
			t.Errorf("the layer has %d bytes, reported are %d", size, done.bytes)
		}
	}
	if one.digest == two.digest {
		t.Error("two saves are one image")
	}
}

func TestTheKubeletNeverRemovesASavedImageAndRemoveDoes(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	before := blobs(t, c)
	p.sh("echo x >/x")
	image := imageFor(t, "one")
	p.commit(image)
	if status := d.image(t.Context(), image); !status.Pinned {
		t.Errorf("the kubelet may remove it: %v", status)
	}
	if names, err := c.List(t.Context(), prefix); err != nil || !slices.Contains(names, image) || slices.Contains(names, busybox) {
		t.Errorf("List: %v, %v; want %s and no others' images", names, err, image)
	}
	for range 2 { // once more is no error
		if err := c.Remove(t.Context(), image); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, blobs(t, c)); diff != "" {
		t.Errorf("blobs after it was removed (-before +after):\n%s", diff)
	}
	for limit := time.Now().Add(20 * time.Second); d.image(t.Context(), image) != nil; {
		if time.Now().After(limit) {
			t.Fatal("the kubelet still sees the image")
		}
	}
}

func TestASavedImageStartsWhenTheBaseImageAndItsLayerAreGone(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	p.sh("echo x >/x")
	image := imageFor(t, "one")
	done := p.commit(image)
	manifest, _ := manifestOf(t, c, done.digest)
	p.stop() // nothing else holds the base
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := d.load(ctx, "busybox.tar", busybox); err != nil {
			t.Error(err)
		}
	})
	base := d.image(t.Context(), busybox).Id
	for _, name := range []string{busybox, base} {
		if err := c.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	dropLayer(t, c, manifest.Layers[0].Digest.String())
	if got := run(t, d, c, image).sh("cat /x"); got != "x" {
		t.Errorf("/x holds %q", got)
	}
}

// dropLayer takes a blob away as containerd does with discard_unpacked_layers, and puts
// it back at the test's end.
func dropLayer(t *testing.T, c *Client, digest string) {
	t.Helper()
	raw, err := c.document(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.content.Info(t.Context(), &content.InfoRequest{Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.content.Delete(t.Context(), &content.DeleteContentRequest{Digest: digest}); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if _, err := c.write(ctx, raw, info.Info.Labels); err != nil {
			t.Error(err)
		}
	})
}

func TestMeasureCountsWhatWasSavedBefore(t *testing.T) {
	d, c := running(t)
	first := run(t, d, c, busybox)
	first.sh("head -c 3000000 /dev/urandom >/big")
	image := imageFor(t, "one")
	first.commit(image)
	second := run(t, d, c, image)
	second.sh("head -c 2000000 /dev/urandom >/more")
	for _, one := range []struct {
		pod   *pod
		bytes int64
	}{{first, 3_000_000}, {second, 5_000_000}} {
		got, err := c.Measure(t.Context(), one.pod.id)
		if err != nil || got < one.bytes || got > one.bytes+200_000 {
			t.Errorf("Measure: %d, %v; want about %d", got, err, one.bytes)
		}
	}
}

func TestASaveThatIsCancelledLeavesNothing(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	p.sh("head -c 40000000 /dev/urandom >/big")
	before := blobs(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := c.Commit(ctx, p.id, imageFor(t, "one"))
		done <- err
	}()
	p.frozen()
	cancel()
	if err := <-done; err == nil {
		t.Error("it was saved all the same")
	}
	p.nothingLeft()
	if diff := cmp.Diff(before, blobs(t, c)); diff != "" {
		t.Errorf("blobs (-before +after):\n%s", diff)
	}
	if d.image(t.Context(), imageFor(t, "one")) != nil {
		t.Error("there is an image")
	}
}

// commitAsAnotherProcess commits the container that the environment names, for a test
// that kills it meanwhile.
func commitAsAnotherProcess(socket string) int {
	c, err := New(socket)
	if err == nil {
		_, _, err = c.Commit(context.Background(), os.Getenv("AIPUB_TEST_CONTAINER"), os.Getenv("AIPUB_TEST_IMAGE"))
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestWhatAKilledProcessLeftFrozenIsThawed(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	p.sh("head -c 40000000 /dev/urandom >/big")
	before := blobs(t, c)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "AIPUB_TEST_COMMIT="+d.socket, "AIPUB_TEST_CONTAINER="+p.id, "AIPUB_TEST_IMAGE="+imageFor(t, "one"))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	p.frozen()
	other.Process.Signal(syscall.SIGKILL)
	other.Wait()
	if s := p.status(); s != task.Status_PAUSED {
		t.Fatalf("the container is %v; the test proves nothing", s)
	}
	for range 2 {
		if err := c.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.nothingLeft()
	if diff := cmp.Diff(before, blobs(t, c)); diff != "" {
		t.Errorf("blobs (-before +after):\n%s", diff)
	}
	p.sh("rm /big")
	p.commit(imageFor(t, "again"))
}

func TestAFullDiskIsNamedAndLeavesNothing(t *testing.T) {
	parts := needed(t)
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(root, syscall.MNT_DETACH) })
	d, err := start(root, parts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	c := d.client(t)
	p := run(t, d, c, busybox)
	p.sh("head -c 25000000 /dev/urandom >/big")
	_, _, err = c.Commit(t.Context(), p.id, imageFor(t, "one"))
	wantReason(t, err, api.ReasonDiskFull)
	p.nothingLeft()
	p.sh("rm /big; echo small >/small")
	p.commit(imageFor(t, "two"))
}

func TestOnlyTheContainerThatRunsIsFound(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	old := p.id
	if got, err := c.Find(t.Context(), "lab", p.uid, "main"); err != nil || got != old {
		t.Errorf("Find: %s, %v; want %s", got, err, old)
	}
	if _, err := d.runtime.StopContainer(t.Context(), &cri.StopContainerRequest{ContainerId: old, Timeout: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Find(t.Context(), "lab", p.uid, "main")
	wantReason(t, err, api.ReasonContainerGone)
	_, _, err = c.Commit(t.Context(), old, imageFor(t, "one"))
	wantReason(t, err, api.ReasonContainerGone)
	p.startContainer(busybox, 1)
	if got, err := c.Find(t.Context(), "lab", p.uid, "main"); err != nil || got != p.id {
		t.Errorf("Find after a restart: %s, %v; want %s, not %s", got, err, p.id, old)
	}
	_, err = c.Find(t.Context(), "lab", p.uid, "other")
	wantReason(t, err, api.ReasonContainerGone)
	_, err = c.Find(t.Context(), "elsewhere", p.uid, "main")
	wantReason(t, err, api.ReasonContainerGone)
	_, _, err = c.Commit(t.Context(), "no-such", imageFor(t, "one"))
	wantReason(t, err, api.ReasonContainerGone)
}

func TestACommandTellsItsEndAndIsKilledInTime(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	code, out, err := c.Exec(t.Context(), p.id, []string{"/bin/sh", "-c", "seq 1 100000; echo bad >&2; exit 3"}, 30*time.Second)
	if err != nil || code != 3 || len(out) != maxOutputBytes || !strings.HasSuffix(out, "100000\nbad\n") {
		t.Errorf("Exec: code %d, %v, %d bytes that end with %q", code, err, len(out), tail(out, 20))
	}
	began := time.Now()
	_, _, err = c.Exec(t.Context(), p.id, []string{"sleep", "77"}, time.Second)
	wantReason(t, err, api.ReasonHookFailed)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v to be killed after 1 s", took)
	}
	if ps := p.sh("ps"); strings.Contains(ps, "sleep 77") {
		t.Errorf("it still runs:\n%s", ps)
	}
	_, _, err = c.Exec(t.Context(), p.id, []string{"/no/such"}, time.Second)
	wantReason(t, err, api.ReasonHookFailed)
	_, _, err = c.Exec(t.Context(), "no-such", []string{"true"}, time.Second)
	wantReason(t, err, api.ReasonContainerGone)
}
