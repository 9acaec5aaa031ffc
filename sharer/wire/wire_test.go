// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// cName turns a Go field into the C one: GPUUUID → gpu_uuid, BusyNs → busy_ns.
func cName(field string) string {
	for _, special := range [][2]string{{"GPUUUID", "gpu_uuid"}, {"GPUName", "gpu_name"}, {"BuildID", "build_id"}} {
		if field == special[0] {
			return special[1]
		}
	}
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// constants are the C names whose values must equal Go's.
var constants = map[string]uint64{
	"AIPUB_GRANT_MAGIC": GrantMagic, "AIPUB_PAGE_MAGIC": PageMagic, "AIPUB_LAYOUT": uint64(Layout), "AIPUB_SLOTS": Slots,
	"AIPUB_HAS_MEMORY": uint64(HasMemory), "AIPUB_HAS_COMPUTE": uint64(HasCompute), "AIPUB_LEND": uint64(Lend),
	"AIPUB_BORROW": uint64(Borrow), "AIPUB_REVOCABLE": uint64(Revocable),
	"AIPUB_LEASE_NONE": uint64(LeaseNone), "AIPUB_LEASE_OWN": uint64(LeaseOwn), "AIPUB_LEASE_BORROWED": uint64(LeaseBorrowed),
	"AIPUB_RECLAIM_NONE": uint64(ReclaimNone), "AIPUB_RECLAIM_REFUSE": uint64(ReclaimRefuse),
	"AIPUB_RECLAIM_TRIM": uint64(ReclaimTrim), "AIPUB_RECLAIM_DEMOTE": uint64(ReclaimDemote),
	"AIPUB_HELLO": uint64(Hello), "AIPUB_WELCOME": uint64(Welcome), "AIPUB_REFUSED": uint64(Refused),
	"AIPUB_WANT": uint64(Want), "AIPUB_CLOSING": uint64(Closing), "AIPUB_DRAINED": uint64(Drained), "AIPUB_SHORT": uint64(Short),
	"AIPUB_REFUSED_LAYOUT": uint64(RefusedLayout), "AIPUB_REFUSED_IDENTITY": uint64(RefusedIdentity), "AIPUB_REFUSED_FULL": uint64(RefusedFull),
	"AIPUB_PROBLEM_EXPORT_TABLE": uint64(ProblemExportTable), "AIPUB_PROBLEM_TOOL": uint64(ProblemTool), "AIPUB_PROBLEM_UNGATED": uint64(ProblemUngated),
}

// TestLayoutIsTheOneOfC compiles a program that prints what the C compiler makes
// of wire.h, and compares every offset, size and constant.
func TestLayoutIsTheOneOfC(t *testing.T) {
	want := map[string]uint64{}
	var program strings.Builder
	program.WriteString("#include <stdio.h>\n#include \"wire.h\"\nint main(void){\n")
	line := func(expression string, value uint64) {
		want[expression] = value
		fmt.Fprintf(&program, "printf(\"%%s=%%llu\\n\", %q, (unsigned long long)(%s));\n", expression, expression)
	}
	for name, v := range constants {
		line(name, v)
	}
	for name, v := range map[string]any{"aipub_grant": Grant{}, "aipub_slot": Slot{}, "aipub_page": Page{}} {
		typ := reflect.TypeOf(v)
		line("sizeof(struct "+name+")", uint64(typ.Size()))
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Name != "_" {
				line(fmt.Sprintf("offsetof(struct %s, %s)", name, cName(f.Name)), uint64(f.Offset))
				line(fmt.Sprintf("sizeof(((struct %s*)0)->%s)", name, cName(f.Name)), uint64(f.Type.Size()))
			}
		}
	}
	program.WriteString("return 0;}\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "print.c"), filepath.Join(dir, "print")
	if err := os.WriteFile(source, []byte(program.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // a compiler, on a file that this test wrote
	if out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-I", here, "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	out, err := exec.Command(binary).Output() //nolint:gosec // made above
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		i := strings.LastIndex(l, "=")
		name, value := l[:i], l[i+1:]
		if fmt.Sprint(want[name]) != value {
			t.Errorf("%s is %s in C, %d in Go", name, value, want[name])
		}
		seen++
	}
	if seen != len(want) {
		t.Errorf("C printed %d values of %d", seen, len(want))
	}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	m := Message{Type: Drained, Slot: 7, Turn: 1 << 31, Layout: Layout, A: 1 << 63, B: 1}
	back, err := Parse(m.Append(nil))
	if err != nil || back != m {
		t.Errorf("came back as %+v, %v; want %+v", back, err, m)
	}
}

func TestBadMessagesAreRefused(t *testing.T) {
	other := Message{Type: Hello, Layout: Layout + 1}.Append(nil)
	for name, b := range map[string][]byte{"empty": nil, "short": other[:31], "long": append(Message{Layout: Layout}.Append(nil), 0), "another layout": other} {
		if m, err := Parse(b); err == nil {
			t.Errorf("%s: parsed to %+v", name, m)
		}
	}
}
