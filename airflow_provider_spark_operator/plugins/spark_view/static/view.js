// The page in Airflow's user interface: one task instance, or the runs of a DAG run or a DAG.
import { parseAddress } from "./airflow.js";
import { followTheme, say, show } from "./elements.js";
import { showRun } from "./run.js";
import { showRuns } from "./runs.js";
followTheme();
try {
  const one = parseAddress(window.location.search);
  if (one.dag && one.run && one.task) await showRun(one);
  else if (one.dag) await showRuns(one);
  else show([say("The address of this page names no DAG. Open the tab Spark of a DAG or a task in Airflow.")]);
} catch (error) {
  show([say(`This page could not show the record: ${error.message}`)]);
}
