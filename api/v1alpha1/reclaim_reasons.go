// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Why something is paused, or will be.
const (
	ReasonRequested      = "Requested"      // its user asked for it
	ReasonOccupancyLimit = "OccupancyLimit" // it held its set for as long as it may
	ReasonIdle           = "Idle"           // nobody used it for as long as the policy waits
)

// Why there is no deadline, or one is put off.
const (
	ReasonNoLimit         = "NoLimit"         // no ReclaimPolicy limits it
	ReasonActive          = "Active"          // it worked lately
	ReasonActivityUnknown = "ActivityUnknown" // it was not watched for the whole time
	ReasonQuietHours      = "QuietHours"      // put off to the end of quiet hours
	ReasonGrace           = "Grace"           // put off until its user has been warned long enough
)

// Events about Workspaces and what else ReclaimPolicies bind.
const (
	ReasonReclaimWarning  = "ReclaimWarning"
	ReasonPausing         = "Pausing"
	ReasonPaused          = "Paused"
	ReasonResumed         = "Resumed"
	ReasonExtended        = "Extended"
	ReasonSaveFailed      = "SaveFailed"
	ReasonSaved           = "Saved"
	ReasonSavedStateGone  = "SavedStateGone"
	ReasonClockStepped    = "ClockStepped"
	ReasonNotifyFailed    = "NotifyFailed"
	ReasonInvalidTemplate = "InvalidTemplate"
)

// Condition types of a Workspace, beside ConditionReady.
const (
	// ConditionSaved says whether its work was saved when it was paused last.
	ConditionSaved = "Saved"
	// ConditionRestartNeeded: spec was changed while it runs.
	ConditionRestartNeeded = "RestartNeeded"
)
