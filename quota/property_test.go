// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// A script is read for all choices of a run; at its end all choices are 0.
type script []byte

func (s *script) choose(n int) int {
	if len(*s) == 0 {
		return 0
	}
	c := int((*s)[0]) % n
	*s = (*s)[1:]
	return c
}

func pick[T any](s *script, from ...T) T { return from[s.choose(len(from))] }

var (
	projects = []string{"vision", "audio"}
	people   = []string{"alice", "bob", "project:vision"}
	kinds    = []api.WorkloadType{api.TypeJob, api.TypeOperation, api.TypeWorkspace}
)

func (s *script) limits() []limit {
	var ls []limit
	if s.choose(3) > 0 {
		ls = append(ls, sets(pick(s, "small", "large"), int32(s.choose(5))))
	}
	if s.choose(2) > 0 {
		ls = append(ls, gpus(pick(s, "0", "0.5", "1", "1.1", "2", "3")))
	}
	return ls
}

func (s *script) quotas() []api.ResourceSetQuota {
	var qs []api.ResourceSetQuota
	for i := range 1 + s.choose(5) {
		project, user := pick(s, projects...), pick(s, people...)
		scope := pick(s, ofProject(project), ofEachUser(project), ofPair(project, user), ofUser(user))
		ls := append(s.limits(), surges(int32(s.choose(3))))
		if s.choose(3) == 0 {
			ls = append(ls, only(pick(s, kinds...), s.limits()...))
		}
		if s.choose(2) > 0 && scope.Project != "" && scope != ofProject(project) {
			ls = append(ls, lending(int32(60*s.choose(4))))
		}
		qs = append(qs, quotaOf(fmt.Sprintf("q%d", i), scope, ls...))
	}
	return qs
}

func (s *script) sets() map[string]int64 {
	asks := map[string]int64{pick(s, "small", "small", "large", "mig"): int64(1 + s.choose(2))}
	if s.choose(4) == 3 {
		asks["cpu"] = 1
	}
	return asks
}

// party of one of a few workloads; its number decides whose it is.
func (s *script) owner() (Workload, Party) {
	n := s.choose(12)
	return workload("Thing", fmt.Sprint(n)), Party{Project: projects[n%2], User: people[n%3], Type: kinds[n%5%3]}
}

// run is a book and the model beside it.
type run struct {
	t     *testing.T
	book  *Book
	model *model
	next  int // pods so far; also the minutes that have passed
	uids  []string
}

func (r *run) claim(s *script) Claim {
	w, p := s.owner()
	r.next++
	uid := fmt.Sprintf("p%04d", r.next)
	c := Claim{
		UID: uid, Namespace: "ml", Name: uid, Workload: w, Party: p, Sets: s.sets(),
		Generation: pick(s, "r1", "r2", "r3", ""), Since: noon.Add(time.Duration(r.next) * time.Minute),
	}
	if due := s.choose(4); due > 0 {
		c.DueBack = noon.Add(time.Duration(due) * time.Hour)
	}
	return c
}

func (r *run) now() time.Time { return noon.Add(time.Duration(r.next) * time.Minute) }

func (r *run) charge(c Claim, g Grade) {
	r.t.Logf("charge %s %v %v %v gen %s: %s", c.UID, c.Workload.Name, c.Party, c.Sets, c.Generation, g)
	r.book.Charge(c, g)
	r.model.pods[c.UID] = modelPod{c, g}
	r.uids = append(r.uids, c.UID)
}

func (r *run) release(uid string) {
	r.t.Logf("release %s", uid)
	r.book.Release(uid)
	delete(r.model.pods, uid)
}

func (r *run) ask(claims []Claim) {
	r.t.Helper()
	v := r.book.Check(claims)
	inside := v.OK()
	for _, g := range v.Grades {
		inside = inside && (g == Within || g == Headroom)
	}
	if fits := r.model.fits(claims); fits != inside {
		r.t.Fatalf("%d claims: the model says fits %t, the book %s", len(claims), fits, verdict(v))
	}
	if !v.OK() {
		sentences(v)
		return
	}
	if len(v.Grades) != len(claims) {
		r.t.Fatalf("%d grades for %d claims", len(v.Grades), len(claims))
	}
	for i, c := range claims {
		r.charge(c, v.Grades[i])
	}
}

// reserve keeps a minimum if there is room, as the caller of the book does.
func (r *run) reserve(s *script) {
	w, p := s.owner()
	p.Type = api.TypeOperation
	f := Floor{Workload: w, Party: p, Sets: s.sets(), MinReplicas: int64(s.choose(4))}
	if r.book.CheckFloor(f).OK() {
		r.t.Logf("reserve %v", f)
		r.book.Reserve(f)
		r.model.floors[w] = f
	}
}

// yield asks who has to give back, and sees whether that helps and is not too much.
func (r *run) yield(asked []Claim) {
	r.t.Helper()
	vs, ok := r.book.Yield(asked, r.now())
	if !ok {
		return
	}
	for i, spared := range vs {
		few := r.model.clone()
		for j, v := range vs {
			if j != i {
				delete(few.pods, v.Claim.UID)
			}
		}
		if few.fits(asked) {
			r.t.Fatalf("%s did not have to yield", spared.Claim.UID)
		}
	}
	for _, v := range vs {
		g := r.model.pods[v.Claim.UID].grade
		if v.Reason == api.ReasonYieldedBorrowed && (g != Borrowed || v.Claim.Party.Type != api.TypeJob) {
			r.t.Fatalf("%s was opened %s and yields as borrowed", v.Claim.UID, g)
		}
		r.release(v.Claim.UID)
	}
	if !r.model.fits(asked) {
		r.t.Fatalf("%d victims, and there is no room", len(vs))
	}
}

// state is all that a book says.
func (r *run) state(b *Book) string {
	r.t.Helper()
	out := ""
	for _, q := range r.model.quotas {
		s, err := json.Marshal(b.Status(q.Name))
		if err != nil {
			r.t.Fatal(err)
		}
		out += fmt.Sprintf("%s: %s over %+v\n", q.Name, s, b.Over(q.Name))
	}
	for _, project := range projects {
		out += fmt.Sprintln(project, b.Load(project))
	}
	for i := range 12 {
		s := script{byte(i), 0, 3, 0}
		c := Claim{UID: "probe", Sets: small(1), Generation: "r1", Since: noon}
		c.Workload, c.Party = s.owner()
		out += fmt.Sprintf("%+v\n", b.Check([]Claim{c}))
	}
	return out
}

func (r *run) invariants() {
	r.t.Helper()
	r.model.holds(r.t)
	for _, q := range r.model.quotas {
		if over := r.book.Over(q.Name); len(over) > 0 {
			r.t.Fatalf("over without a lowered limit: %+v", over)
		}
		if got, most := r.book.Status(q.Name).Surge.Pods, *q.Spec.SurgePods; !q.Spec.Scope.EachUser && got > most {
			r.t.Fatalf("quota %s: %d pods stand above by surge, at most %d may", q.Name, got, most)
		}
	}
}

func play(t *testing.T, s script) {
	quotas := s.quotas()
	r := &run{t: t, book: NewBook(quotas, sizes), model: newModel(quotas)}
	for step := 0; len(s) > 0; step++ {
		switch s.choose(10) {
		case 0, 1, 2, 3:
			r.ask([]Claim{r.claim(&s)})
		case 4:
			gang := []Claim{r.claim(&s), r.claim(&s), r.claim(&s)}
			gang[1].Workload, gang[1].Party = gang[0].Workload, gang[0].Party
			r.ask(gang)
		case 5, 6:
			if len(r.uids) > 0 {
				r.release(r.uids[s.choose(len(r.uids))])
			}
		case 7:
			r.reserve(&s)
		case 8:
			w, _ := s.owner()
			r.book.Unreserve(w)
			delete(r.model.floors, w)
		case 9:
			r.yield([]Claim{r.claim(&s)})
		}
		r.invariants()
		if step%16 == 0 {
			r.compare()
		}
	}
	r.compare()
}

// compare holds the book against one made anew, and sees that a copy has a life of
// its own.
func (r *run) compare() {
	r.t.Helper()
	before := r.state(r.book)
	want(r.t, "kept up to date against made anew", before, r.state(r.model.book()))
	c := r.book.Clone()
	want(r.t, "the copy", r.state(c), before)
	for uid := range r.model.pods {
		c.Release(uid)
	}
	for w := range r.model.floors {
		c.Unreserve(w)
	}
	c.Charge(pod("late", "alice", small(1)), Within)
	want(r.t, "after the copy changed", r.state(r.book), before)
	c.Release("late")
	want(r.t, "an emptied copy", r.state(c), r.state(NewBook(r.model.quotas, sizes)))
}

func TestBookAgainstModel(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 50
	}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 4))
			s := make(script, 400)
			for i := range s {
				s[i] = byte(rnd.IntN(256))
			}
			play(t, s)
		})
	}
}

// Whatever only reads may run side by side; the race detector looks on.
func TestReadersRunSideBySide(t *testing.T) {
	b := fullProject(t)
	b.Charge(pod("over", "bob", small(2)).due(9), Surge)
	asked := []Claim{pod("x", "carol", small(3)), pod("y", "new", small(1))}
	first := verdict(b.Check(asked))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				want(t, "verdict", verdict(b.Check(asked)), first)
				b.Yield(asked, noon.Add(time.Hour))
				b.Status("each")
				b.Over("all")
				b.Load("vision")
				b.CheckFloor(floorOf(9, small(1)))
				b.Clone().Release("over")
			}
		})
	}
	wg.Wait()
}

func FuzzBook(f *testing.F) {
	f.Add([]byte("a book and the model beside it, step by step, until the script ends"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 1<<10 {
			play(t, raw)
		}
	})
}
