// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"
)

// completionScript is what kubectl runs to complete the words after
// `kubectl aipub`: an executable named kubectl_complete-aipub on the PATH.
const completionScript = `#!/bin/sh
# Completion of "kubectl aipub" for kubectl. Save it as an executable file named
# kubectl_complete-aipub in a directory of your PATH.
exec kubectl aipub __complete "$@"
`

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the script that lets kubectl complete this plugin's arguments",
		Long: `Print the script that lets kubectl complete this plugin's arguments.

kubectl completes a plugin by running an executable named
kubectl_complete-aipub on the PATH; completion of kubectl itself must be set up
in the shell (kubectl completion --help).`,
		Example: `  kubectl aipub completion > ~/.local/bin/kubectl_complete-aipub
  chmod +x ~/.local/bin/kubectl_complete-aipub`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.Out, completionScript)
			return err
		},
	}
}
