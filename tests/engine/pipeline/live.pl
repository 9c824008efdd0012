# Answers each request at once, or after a second and a half while /volume/slow exists.
use strict;
use warnings;
use IO::Socket::INET;
$SIG{TERM} = sub { exit 0 };
my $server = IO::Socket::INET->new(LocalPort => 8080, Listen => 64, ReuseAddr => 1) or die "no port: $!";
while (my $client = $server->accept) {
    while (defined(my $line = <$client>)) { last if $line =~ /^\r?\n$/ }
    select undef, undef, undef, 1.5 if -e '/volume/slow';
    print $client "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    close $client;
}
