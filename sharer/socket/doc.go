// SPDX-License-Identifier: Apache-2.0

// Package socket is the live side of the sharer: it gives every slice the
// directory that its container sees (sharer/wire), lets the processes in that
// container attach, and carries out what the Arbiter of package sharer decides.
//
// # What is trusted
//
// A slice's grant is written by this package alone. A slice's page is written by
// the container and is worth what a container says: every word is read once,
// bounds are constants of this package, and no limit, loop or address comes
// from it. A container that writes garbage, cuts the file short, floods the
// socket or stops its processes harms itself: its lease is taken by force after
// the Arbiter's patience, and its neighbours go on.
//
// # Who is attached
//
// A process says Hello on its slice's socket. It is let in when the kernel says
// (SO_PEERCRED, a pidfd, /proc) that it is the process that its slot names: the
// same PID in its own PID namespace and the same start time. It stays a member
// until it is dead, not until its connection closes; a pidfd tells. Then its
// slot is cleared, the owner word last. Slots that nobody said Hello for are
// cleared when no process of that PID maps the page any more.
// This needs the host's PID namespace.
//
// # One loop
//
// One goroutine waits in epoll for packets, deaths and its timer, and tells the
// Arbiter of them in one order. The Arbiter needs that order and has no lock; a
// goroutine for each process would only queue up for it. Each connection is read
// one packet a round, and has a budget of packets, so that none can keep the
// others waiting.
//
// # Leases
//
// To grant a lease is to write it into the grants of all slices of the tenant,
// to change their turn, and to wake who waits for it. To end it is the same with
// no lease; then the busy words of all members are looked at. Whoever stored his
// before the turn changed is seen; whoever comes later sees the new turn and
// issues nothing. When no busy word is left the tenant has drained.
//
// # When a directory is removed
//
// Twice a second, and before a container is started, the server looks whether the
// directories are where it made them. One that is gone is made anew; the processes
// that have the old files mapped go on (see slice.lost).
//
// # When the agent stops
//
// The processes see the heartbeat stop and share the GPU by the timetable in
// their grants. A new agent adopts the directories, ends what leases it finds,
// and gives the first one when nobody is seen busy, or after the patience.
package socket
