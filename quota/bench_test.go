// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// hotBook has 20,000 charged pods of 4,000 workloads of 500 people in one project,
// and 1,000 quotas: of the project, of each of its people and of other projects.
func hotBook() *Book {
	qs := []api.ResourceSetQuota{
		quotaOf("all", ofProject("vision"), sets("small", 20001), gpus("9000"), only(api.TypeJob, sets("small", 20001))),
		quotaOf("each", ofEachUser("vision"), sets("small", 41), lending(600)),
	}
	for i := range 499 {
		qs = append(qs, quotaOf(fmt.Sprintf("user-%d", i), ofUser(fmt.Sprintf("user-%d", i)), gpus("11")),
			quotaOf(fmt.Sprintf("project-%d", i), ofProject(fmt.Sprintf("project-%d", i)), gpus("4")))
	}
	b := bookOf(qs...)
	for i := range 20000 {
		b.Charge(hotPod(i), Within)
	}
	return b
}

func hotPod(i int) Claim {
	w := i % 4000
	c := pod(fmt.Sprintf("pod-%d", i), fmt.Sprintf("user-%d", w%500), small(1))
	c.Workload = Workload{Group: "batch", Kind: "Job", Namespace: "ml", Name: fmt.Sprintf("job-%d", w), UID: fmt.Sprintf("uid-%d", w)}
	c.Generation = c.Workload.UID
	return c.at(i).due(i + 600)
}

func BenchmarkCheckFits(b *testing.B) {
	book := hotBook()
	asked := []Claim{hotPod(20007)}
	if v := book.Check(asked); !v.OK() {
		b.Fatal(verdict(v))
	}
	for b.Loop() {
		book.Check(asked)
	}
}

func BenchmarkCheckGangOf8Fits(b *testing.B) {
	book := hotBook()
	for i := range 8 {
		book.Release(fmt.Sprintf("pod-%d", 1+i*500))
	}
	var asked []Claim
	for range 8 {
		asked = append(asked, hotPod(20001))
	}
	if v := book.Check(asked); !v.OK() {
		b.Fatal(verdict(v))
	}
	for b.Loop() {
		book.Check(asked)
	}
}

// The answer with its reasons, again and again while nothing changes.
func BenchmarkCheckShort(b *testing.B) {
	book := hotBook()
	asked := []Claim{hotPod(20007), hotPod(20008)}
	if v := book.Check(asked); v.OK() {
		b.Fatal("fits")
	}
	for b.Loop() {
		book.Check(asked)
	}
}

// The same after every change.
func BenchmarkCheckShortAfterAChange(b *testing.B) {
	book := hotBook()
	asked, turn := []Claim{hotPod(20007), hotPod(20008)}, hotPod(3)
	for b.Loop() {
		book.Charge(turn, Within)
		book.Check(asked)
	}
}

func BenchmarkChargeAndRelease(b *testing.B) {
	book := hotBook()
	c := hotPod(20007)
	for b.Loop() {
		book.Charge(c, Within)
		book.Release(c.UID)
	}
}

func BenchmarkClone(b *testing.B) {
	book := hotBook()
	for b.Loop() {
		book.Clone()
	}
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		hotBook()
	}
}

func BenchmarkStatus(b *testing.B) {
	book := hotBook()
	for b.Loop() {
		book.Status("all")
	}
}

func BenchmarkYield(b *testing.B) {
	book := NewBook([]api.ResourceSetQuota{
		quotaOf("all", ofProject("vision"), sets("small", 20000)), quotaOf("each", ofEachUser("vision"), sets("small", 20), lending(600)),
	}, sizes)
	for i := range 20000 {
		v := book.Check([]Claim{hotPod(i)})
		book.Charge(hotPod(i), v.Grades[0])
	}
	asked := []Claim{pod("x", "zoe", small(4)), pod("y", "zoe", small(4))}
	now := noon.Add(20000*time.Minute + time.Hour)
	if vs, ok := book.Yield(asked, now); !ok || len(vs) != 8 {
		b.Fatal(len(vs), ok)
	}
	for b.Loop() {
		book.Yield(asked, now)
	}
}
