package controllers_test

import (
	"slices"
	"sync"
	"testing"
)

// longCases are the cases that short runs leave to make test-long: short runs have others of the same test that are like them.
var longCases = []string{
	"TestAbort/agents_are_started",
	"TestAbort/runner_is_started", // TestDeletion has it.
	"TestArchive/a_benchmark_removed_by_force",
	"TestArchive/an_answer_that_was_lost",
	"TestArchive/an_archive_that_comes_after_the_result",
	"TestArchive/away,_and_deleted_in_the_foreground",
	"TestArchive/away,_and_the_namespace_is_deleted",
	"TestArchive/away_while_the_operator_is_replaced",
	"TestAwayOperator/after_an_orphan,_an_hour_earlier",
	"TestAwayOperator/after_an_orphan,_an_hour_later",
	"TestAwayOperator/during_the_clean-up,_an_hour_earlier",
	"TestAwayOperator/during_the_clean-up,_an_hour_later",
	"TestAwayOperator/while_the_agents_are_started,_an_hour_earlier",
	"TestAwayOperator/while_the_agents_are_started,_an_hour_later",
	"TestAwayOperator/while_the_device_is_started,_an_hour_earlier",
	"TestAwayOperator/while_the_device_is_started,_an_hour_later",
	"TestBedHealth/an_interface_that_does_not_exist",
	"TestCleanUp/a_benchmark_removed_by_force", // One that does not clean up begins like it, and histories have it.
	"TestDeletion/agents_are_started",
	"TestDeletion/device_is_started", // TestAbort has it.
	"TestGang/a_member_is_not_there_yet",
	"TestGates/of_a_benchmark_that_was_aborted",
	"TestGates/relative_to_a_benchmark",
	"TestGates/relative_to_a_named_history",
	"TestHooks/another_benchmark_preempts",
	"TestHooks/one_after_the_lease_takes_long",
	"TestHooks/one_before_the_lease_is_never_started",
	"TestHooks/one_before_the_lease_is_refused",
	"TestHooks/one_that_cannot_succeed_is_corrected",
	"TestHooks/the_benchmark_goes_when_a_hook_has_failed",
	"TestHooks/the_operator_is_killed", // Histories have operators that end at every write, also next to hooks.
	"TestHostileWriter/all_its_life",
	"TestHostileWriter/it_is_aborted",
	"TestHostileWriter/it_is_deleted",
	"TestHostileWriter/the_deadline_passes",
	"TestKueue/Kueue_and_the_operator_are_away",
	"TestKueue/a_workload_that_is_deleted",
	"TestKueue/aborted_and_deleted_while_it_waits",
	"TestKueue/evicted_while_it_waits_for_a_bed",
	"TestKueue/preempted_while_it_waits_for_a_bed",
	"TestKueue/suspended_at_first",
	"TestLosses/a_traffic_pod_is_evicted_at_the_start",
	"TestLosses/the_runner's_pod_is_deleted", // It is lost again and again in another case.
	"TestLosses/the_runner's_pod_is_evicted",
	"TestLosses/the_runner's_pod_is_evicted_at_the_start",
	"TestLosses/the_runner's_secret_is_deleted",
	"TestLosses/the_runner_does_not_answer_for_a_while",
	"TestNodeConfiguration/a_bed_that_is_deleted_while_its_node_differs", // TestManagement has it for another device.
	"TestNodeConfiguration/a_value_of_a_benchmark",
	"TestNodeConfiguration/the_base_alone",
	"TestNodeConfiguration/what_is_missing",
	"TestNotifications/a_receiver_that_hangs",
	"TestNotifications/ended_between_decision_and_sending",
	"TestNotifications/rotated_secrets",
	"TestPreemption/aborted_while_it_waits_again",
	"TestPreemption/aborted_while_the_bed_is_cleaned_up",
	"TestPreemption/before_a_row_any_bed_will_do",
	"TestPreemption/deleted_while_the_bed_is_cleaned_up",
	"TestPreemption/in_the_second_variant",
	"TestPreemption/late_objects_of_the_first_run",
	"TestPreemption/the_bed_changed_meanwhile",
	"TestPreemption/the_bed_does_not_fit_any_more",
	"TestPreemption/the_deadline_adds_up_the_runs",
	"TestPreemption/the_environment_is_another_one",
	"TestPreemption/the_operator_ends_while_the_bed_is_cleaned_up",
	"TestPreemption/twice",
	"TestQueueing/a_bed_whose_table_cannot_be_read",
	"TestRecord/a_recorder_that_comes_after_the_result",
	"TestRecord/away,_and_an_operator_without_recorder",
	"TestRecord/away,_and_deleted_meanwhile",
	"TestRecord/away_when_the_time_to_live_is_over",
	"TestRecord/many_that_wait_while_the_recorder_is_away",
	"TestReservations/an_operator_that_was_replaced",
	"TestRestart/agents_are_started", // Histories have operators that end at every write, also of a preemption.
	"TestRestart/device_is_started",
	"TestRestart/queued",
	"TestRestart/runner_is_started",
	"TestResults/an_answer_that_does_not_fit_the_schema",
	"TestResults/an_outcome_that_there_is_not", // TestAnythingThatARunnerAnswers of controllers/results has it.
	"TestResults/many_large_rows",              // TestLargeResult in the cluster has them.
	"TestRetention/a_benchmark_that_never_had_a_bed",
	"TestRetention/an_operator_that_was_away_when_the_time_came",
	"TestRetention/changed_after_the_end",
	"TestRetention/kept_for_ever",
	"TestRetention/what_the_benchmark_says",
	"TestSchedules/an_operator_that_dies_in_a_firing", // TestScheduleSurvivesEveryDeath of controllers/schedules lets it die at every write.
	"TestSchedules/an_operator_that_was_away_too_long",
	"TestSchedules/two_operators",
	"TestTRex/nodrop's_image_is_not_there",
	"TestVariants/a_variant_that_forwards_nothing", // TestLifeCycle has it without variants.
	"TestVariants/aborted_between_two_variants",
	"TestVariants/every_variant_has_its_own_model",
}

// seenCases are the names of all cases that were begun.
var seenCases sync.Map

// leaveToLong skips such a case in short runs.
func leaveToLong(t *testing.T) {
	t.Helper()
	seenCases.Store(t.Name(), true)
	if testing.Short() && slices.Contains(longCases, t.Name()) {
		t.Skip("another case is like it: make test-long")
	}
}

// unknownCases returns a problem for each of these cases that no test has, after all tests of the package.
func unknownCases() (problems []string) {
	if incomplete() {
		return nil
	}
	for _, name := range longCases {
		if _, seen := seenCases.Load(name); !seen {
			problems = append(problems, "no test has the case "+name+": correct longCases in controllers/long_test.go")
		}
	}
	return problems
}
