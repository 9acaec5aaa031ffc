// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// crowd is 50,000 waiting workloads of some projects, shuffled.
func crowd(projects int) []Item {
	random := rand.New(rand.NewPCG(1, 1))
	items := make([]Item, 50_000)
	for i := range items {
		items[i] = job(fmt.Sprintf("p%d", i%projects), fmt.Sprintf("%08x-64a5-4d83-a0e8-b1b1b0c3f111", random.Uint32()), 1_772_443_800+int64(i/20))
		if i%50 == 0 {
			items[i].Rank = DefaultKey(items[i].Created, "z")
		}
	}
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items
}

func BenchmarkMoveBefore(b *testing.B) {
	order := crowd(1)
	Sort(order)
	for b.Loop() {
		if _, err := MoveBefore(order, order[len(order)-1].Workload, order[3].Workload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPromote(b *testing.B) {
	order := Order(crowd(1000), plain, unused)
	for b.Loop() {
		if _, err := Promote(order, order[len(order)-1].Workload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPage sorts a project's queue and takes the last page of it.
func BenchmarkPage(b *testing.B) {
	items := crowd(1)
	order := make([]Item, len(items))
	for b.Loop() {
		copy(order, items)
		Sort(order)
		if page := order[len(order)-500:]; len(page) != 500 {
			b.Fatal(len(page))
		}
	}
}

func BenchmarkNewTurns(b *testing.B) {
	items := crowd(1000)
	for b.Loop() {
		NewTurns(items, plain, unused)
	}
}

func BenchmarkAllTurns(b *testing.B) {
	items := crowd(1000)
	for b.Loop() {
		Order(items, plain, unused)
	}
}
