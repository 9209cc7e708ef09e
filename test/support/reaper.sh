# Keeps a list of commands ('+ id command' adds one, '- id' removes it), and runs what is left of it, the last added first,
# when its input ends: no death of the process at the other end prevents that.
trap '' HUP INT QUIT TERM
ids=
while read -r sign id command; do
  case $sign in
    +) eval "end_$id=\$command"; ids="$id $ids" ;;
    -) unset "end_$id" ;;
  esac
done
for id in $ids; do
  eval "command=\${end_$id-}"
  eval "$command"
done
