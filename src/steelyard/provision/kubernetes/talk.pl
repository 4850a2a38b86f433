# As talk.py, for images that have Perl and no Python.
use strict;
use warnings;
use IO::Select;
use IO::Socket::IP;

my ($mode, $address, $port) = @ARGV;
my $wait = 1;
$| = 1;
$SIG{PIPE} = 'IGNORE';

sub connected {
    my ($timeout) = @_;
    return IO::Socket::IP->new(PeerHost => $address, PeerPort => $port, Timeout => $timeout);
}

sub echoes {
    my ($peer) = @_;
    return 0 unless $peer && defined syswrite($peer, 'x');
    return 0 unless IO::Select->new($peer)->can_read($wait);
    return sysread($peer, my $heard, 64) ? 1 : 0;
}

if ($mode eq 'listen') {
    my $door = IO::Socket::IP->new(LocalHost => $address, LocalPort => 0, Listen => 16) or die "$@\n";
    print $door->sockport, "\n";
    my $peers = IO::Select->new($door);
    while (1) {
        for my $one ($peers->can_read) {
            if ($one == $door) { $peers->add($door->accept); next; }
            my $length = sysread($one, my $heard, 64);
            next if $length && defined syswrite($one, $heard);
            $peers->remove($one);
            close $one;
        }
    }
}
my $open = connected(10 * $wait) or die "$@\n";
while (1) {
    my $passes = echoes($open);
    print $passes, echoes(connected($wait)), "\n";
    select undef, undef, undef, $wait / 4;
}
