// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const library = "/run/aipub/libaipub.so"

func TestWithKeepsWhatTheImageHas(t *testing.T) {
	tests := map[string]struct{ list, want string }{
		"none":               {"", library + "\n"},
		"another library":    {"/usr/lib/libjemalloc.so.2\n", library + "\n/usr/lib/libjemalloc.so.2\n"},
		"no newline at end":  {"/a.so /b.so", library + "\n/a.so /b.so\n"},
		"a comment names it": {"# " + library + "\n", library + "\n# " + library + "\n"},
		"already there":      {"/a.so:" + library + "\n", "/a.so:" + library + "\n"},
	}
	for name, tc := range tests {
		if got := With(tc.list, library); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if again := With(With(tc.list, library), library); again != With(tc.list, library) {
			t.Errorf("%s: a second time gives %q", name, again)
		}
	}
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		loaders []string
		musl    bool
	}{
		"glibc":              {[]string{"ld-linux-x86-64.so.2"}, false},
		"glibc on arm":       {[]string{"ld-linux-aarch64.so.1"}, false},
		"alpine":             {[]string{"ld-musl-x86_64.so.1"}, true},
		"alpine with compat": {[]string{"ld-musl-x86_64.so.1", "ld-linux-x86-64.so.2"}, false},
		"static programs":    {nil, false},
	}
	for name, tc := range tests {
		if err := Judge(tc.loaders); errors.Is(err, ErrMusl) != tc.musl {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// container makes a container's root with the given files and runs f in a mount
// namespace of its own, on a thread that ends with the test.
func container(t *testing.T, files map[string]string, f func(rootfs, work string)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: mounting needs it; run the tests as root")
	}
	rootfs, work := t.TempDir(), t.TempDir()
	for name, content := range files {
		path := filepath.Join(rootfs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread's namespace goes with it
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			t.Errorf("unshare: %v", err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Errorf("make mounts private: %v", err)
			return
		}
		f(rootfs, work)
	}()
	<-done
}

func TestApply(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string // what the loader reads
		image string // what the image has afterwards; "-" if nothing
	}{
		"an image without a list": {map[string]string{"lib64/ld-linux-x86-64.so.2": ""}, library + "\n", ""},
		"an image with a list":    {map[string]string{"etc/ld.so.preload": "/opt/x.so\n"}, library + "\n/opt/x.so\n", "/opt/x.so\n"},
		"a list that has it":      {map[string]string{"etc/ld.so.preload": library}, library, library},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var list string
			container(t, tc.files, func(rootfs, work string) {
				for range 2 { // a runtime may run a hook again
					if err := Apply(rootfs, library, work); err != nil {
						t.Errorf("Apply: %v", err)
					}
				}
				list = filepath.Join(rootfs, listFile)
				if tc.want != tc.image {
					if err := os.WriteFile(list, []byte("mine"), 0o644); !errors.Is(err, unix.EROFS) {
						t.Errorf("root in the container can write the list that it shares with others: %v", err)
					}
				}
				if got, err := os.ReadFile(list); err != nil || string(got) != tc.want {
					t.Errorf("the loader reads %q (%v), want %q", got, err, tc.want)
				}
			})
			if t.Failed() || list == "" {
				return
			}
			if got, err := os.ReadFile(list); err != nil || string(got) != tc.image {
				t.Errorf("the image has %q (%v), want it untouched: %q", got, err, tc.image)
			}
		})
	}
}

func TestApplyStaysInTheContainer(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	container(t, map[string]string{"etc/x": ""}, func(rootfs, work string) {
		if err := os.Symlink(outside, filepath.Join(rootfs, listFile)); err != nil {
			t.Error(err)
			return
		}
		if err := Apply(rootfs, library, work); err == nil {
			t.Log("the link was followed inside of the container's root")
		}
		if got, err := os.ReadFile(outside); err != nil || string(got) != "mine" {
			t.Errorf("the file outside is %q (%v), want it untouched", got, err)
		}
	})
}

func TestApplyRefusesMusl(t *testing.T) {
	container(t, map[string]string{"lib/ld-musl-x86_64.so.1": ""}, func(rootfs, work string) {
		if err := Apply(rootfs, library, work); !errors.Is(err, ErrMusl) || !strings.Contains(err.Error(), "glibc") {
			t.Errorf("Apply: %v, want ErrMusl with what to do", err)
		}
		if _, err := os.Stat(filepath.Join(rootfs, listFile)); err == nil {
			t.Error("a list was made all the same")
		}
	})
}

func TestApplyRefusesWhatIsNoList(t *testing.T) {
	container(t, map[string]string{"etc/ld.so.preload/x": ""}, func(rootfs, work string) {
		if err := Apply(rootfs, library, work); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("a directory: %v", err)
		}
	})
	container(t, map[string]string{"etc/ld.so.preload": strings.Repeat("#", maxList+1)}, func(rootfs, work string) {
		if err := Apply(rootfs, library, work); err == nil || !strings.Contains(err.Error(), "longer") {
			t.Errorf("a huge list: %v", err)
		}
	})
}

func TestInstallNeverTouchesALibraryThatIsMapped(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	image := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	image("aipub-cdi-hook", "hook 1")
	image("libaipub-1.so", "library 1")
	old, err := Install(from, to, library)
	if err != nil {
		t.Fatal(err)
	}
	inode := func(path string) uint64 {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	before := inode(old.Library)
	if _, err := Install(from, to, library); err != nil || inode(old.Library) != before {
		t.Errorf("installing the same again: %v, inode %d, before %d", err, inode(old.Library), before)
	}
	if err := os.Remove(filepath.Join(from, "libaipub-1.so")); err != nil {
		t.Fatal(err)
	}
	image("libaipub-2.so", "library 2")
	image("aipub-cdi-hook", "hook 2")
	next, err := Install(from, to, library)
	if err != nil || next.Library == old.Library || inode(old.Library) != before {
		t.Errorf("an upgrade: %v, %s after %s, inode %d, before %d", err, next.Library, old.Library, inode(old.Library), before)
	}
	for path, want := range map[string]string{next.Library: "library 2", next.Hook: "hook 2", next.List: library + "\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", path, got, err, want)
		}
	}
}

func TestInstallSaysWhatIsMissing(t *testing.T) {
	from := t.TempDir()
	if _, err := Install(from, t.TempDir(), library); err == nil || !strings.Contains(err.Error(), from) {
		t.Errorf("an image without the library: %v", err)
	}
}

func TestBuildsAreReadFromTheLibraries(t *testing.T) {
	dir := t.TempDir()
	const id = "0123456789abcdef0123456789abcdef01234567"
	source := filepath.Join(dir, "x.c")
	if err := os.WriteFile(source, []byte("int x;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // a compiler, on a file that this test wrote
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wl,--build-id=0x"+id, "-o", filepath.Join(dir, "libaipub-1.so"), source).CombinedOutput()
	if err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "libaipub-2.so"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Builds(dir); err != nil || len(got) != 1 || got[0] != id {
		t.Errorf("builds %v, %v; want %s", got, err, id)
	}
}
