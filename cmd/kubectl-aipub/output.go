// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

const (
	formatTable = "table"
	formatWide  = "wide"
)

// output is the -o flag and what belongs to it.
type output struct {
	format    string
	noHeaders bool
	own       []string // formats that the command prints itself
	flags     *genericclioptions.PrintFlags
}

// addObjectOutput gives a command that shows API objects the formats that
// kubectl get has.
func addObjectOutput(cmd *cobra.Command) *output {
	o := &output{own: []string{formatTable, formatWide}, flags: genericclioptions.NewPrintFlags("")}
	o.flags.OutputFormat = &o.format
	o.flags.JSONYamlPrintFlags.AddFlags(cmd)
	o.flags.TemplatePrinterFlags.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave out the headers of tables.")
	o.addFlag(cmd)
	return o
}

// addPlainOutput gives a command whose result is no API object the formats that
// it prints itself: table, wide, json and yaml.
func addPlainOutput(cmd *cobra.Command) *output {
	o := &output{own: []string{formatTable, formatWide, "json", "yaml"}, flags: &genericclioptions.PrintFlags{}}
	o.flags.OutputFormat = &o.format
	o.addFlag(cmd)
	return o
}

func (o *output) addFlag(cmd *cobra.Command) {
	allowed := o.allowed()
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "Output format: "+strings.Join(allowed, ", ")+". Default table.")
	o.flags.OutputFlagSpecified = func() bool { return cmd.Flags().Changed("output") }
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) allowed() []string {
	return append(slices.Clone(o.own), o.flags.AllowedFormats()...)
}

// table reports whether a table is asked for, and whether a wide one.
func (o *output) table() (yes, wide bool) {
	if o.format == "" {
		t := o.flags.TemplatePrinterFlags
		return t == nil || *t.TemplateArgument == "", false
	}
	return o.format == formatTable || o.format == formatWide, o.format == formatWide
}

// check refuses a format that does not exist, before anything is read.
func (o *output) check() error {
	if yes, _ := o.table(); yes || slices.Contains(o.own, o.format) {
		return nil
	}
	_, err := o.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return fmt.Errorf("-o %s: no such format%s; the formats are %s",
			o.format, didYouMean(o.format, o.allowed()), strings.Join(o.allowed(), ", "))
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", o.format, err)
	}
	return nil
}

// object prints an API object in a format that is not a table.
func (o *output) object(obj runtime.Object, w io.Writer) error {
	p, err := o.flags.ToPrinter()
	if err != nil {
		return fmt.Errorf("-o %s: %w", o.format, err)
	}
	return p.PrintObj(obj, w)
}

// objects prints the items of a list: one alone where one was asked for, which may be
// missing, else the list.
func (o *output) objects(list runtime.Object, single bool, w io.Writer) error {
	if !single {
		return o.list(list, w)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read items of %T: %w", list, err)
	}
	if len(items) == 0 {
		return nil
	}
	return o.object(items[0], w)
}

// list prints API objects of one kind: by name each for itself, else as the list
// that holds them.
func (o *output) list(list runtime.Object, w io.Writer) error {
	if o.format != "name" {
		return o.object(list, w)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("-o name: %w", err)
	}
	for _, it := range items {
		if err := o.object(it, w); err != nil {
			return err
		}
	}
	return nil
}

// document prints what is no API object as JSON or YAML.
func (o *output) document(v any, b *bytes.Buffer) error {
	if o.format == "yaml" {
		raw, err := yaml.Marshal(v)
		b.Write(raw)
		return err
	}
	enc := json.NewEncoder(b)
	enc.SetIndent("", "    ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// rows prints a table.
func (o *output) rows(t *metav1.Table, w io.Writer) error {
	_, wide := o.table()
	return printers.NewTablePrinter(printers.PrintOptions{NoHeaders: o.noHeaders, Wide: wide}).PrintObj(t, w)
}

// tables prints tables with an empty line before each; one without rows is left
// out.
func (o *output) tables(b *bytes.Buffer, tables ...*metav1.Table) error {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(b)
		if err := o.rows(t, b); err != nil {
			return err
		}
	}
	return nil
}

// columns starts a table. A name that begins with "+" is shown when wide only.
func columns(names ...string) *metav1.Table {
	t := &metav1.Table{}
	for _, n := range names {
		short, wide := strings.CutPrefix(n, "+")
		c := metav1.TableColumnDefinition{Name: short, Type: "string"}
		if wide {
			c.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, c)
	}
	return t
}

// addRow appends a row; an empty cell becomes "-".
func addRow(t *metav1.Table, cells ...string) {
	row := metav1.TableRow{Cells: make([]any, len(cells))}
	for i, c := range cells {
		if c == "" {
			c = "-"
		}
		row.Cells[i] = c
	}
	t.Rows = append(t.Rows, row)
}
