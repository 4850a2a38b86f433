set -e
# Start Grid Engine in the namespaces that this runs in; $1 is a directory of its own. See gridengine_cluster.py.
D=$1
mkdir -p $D/root/default/common $D/spool/qmaster $D/spool/execd $D/db
ln -s /var/lib/gridengine/util $D/root/util; ln -s /var/lib/gridengine/bin $D/root/bin;  ln -s /var/lib/gridengine/lib $D/root/lib; ln -s /var/lib/gridengine/utilbin $D/root/utilbin
sed -e "s|/var/spool/gridengine/spooldb|$D/db|; s|/var/spool/gridengine/qmaster|$D/spool/qmaster|; s|^admin_user .*|admin_user none|" /var/lib/gridengine/default/common/bootstrap > $D/root/default/common/bootstrap
echo ge1 > $D/root/default/common/act_qmaster
sed -e "s|/var/spool/gridengine/execd|$D/spool/execd|; s|^min_uid.*|min_uid 0|; s|^min_gid.*|min_gid 0|;s|^shell_start_mode.*|shell_start_mode unix_behavior|; s|^load_report_time.*|load_report_time 00:00:02|;s|flush_time=00:00:15|flush_time=00:00:00|" /usr/share/gridengine/default-configuration > $D/conf
printf '10.9.9.1 ge1\n127.0.0.1 localhost\n' > $D/hosts
export SGE_ROOT=$D/root SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445
ip link set lo up; ip addr add 10.9.9.1/32 dev lo; hostname ge1; mount --bind $D/hosts /etc/hosts
S=/usr/lib/gridengine
$S/spoolinit berkeleydb libspoolb $D/db init
$S/spooldefaults configuration $D/conf
$S/spooldefaults complexes /usr/share/gridengine/util/resources/centry
$S/spooldefaults usersets /usr/share/gridengine/util/resources/usersets
$S/spooldefaults managers root
export SGE_ND=1
sge_qmaster > $D/qmaster.out 2>&1 &
sleep 1.5
qconf -sh || true
qconf -ah ge1 || true; qconf -as ge1
cat > $D/sconf <<X
algorithm default
schedule_interval 0:0:1
maxujobs 0
queue_sort_method load
job_load_adjustments NONE
load_adjustment_decay_time 0:7:30
load_formula np_load_avg
schedd_job_info true
flush_submit_sec 1
flush_finish_sec 1
params none
reprioritize_interval 0:0:0
halftime 168
usage_weight_list cpu=1.000000,mem=0.000000,io=0.000000
compensation_factor 5.000000
weight_user 0.25
weight_project 0.25
weight_department 0.25
weight_job 0.25
weight_tickets_functional 0
weight_tickets_share 0
share_override_tickets TRUE
share_functional_shares TRUE
max_functional_jobs_to_schedule 200
report_pjob_tickets TRUE
max_pending_tasks_per_job 50
halflife_decay_list none
policy_hierarchy OFS
weight_ticket 0.01
weight_waiting_time 0
weight_deadline 3600000
weight_urgency 0.1
weight_priority 1
max_reservation 0
default_duration INFINITY
X
qconf -Msconf $D/sconf
sge_execd > $D/execd.out 2>&1 &
sleep 1
cat > $D/pe <<X
pe_name steelyard
slots 99
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule \$fill_up
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
X
qconf -Ap $D/pe
qconf -sq > $D/q || true
sed -e "s/^qname.*/qname all.q/; s/^hostlist.*/hostlist ge1/; s/^pe_list.*/pe_list steelyard/; s/^load_thresholds.*/load_thresholds NONE/; s/^slots.*/slots 4/; s|^shell .*|shell /bin/sh|" $D/q > $D/q2
qconf -Aq $D/q2
echo ready >$D/ready
exec sleep 3600
